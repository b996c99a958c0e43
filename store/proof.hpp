#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/sqlite.hpp"

namespace acid {

// Digests that tell what acid wrote from what was changed since. They can all be computed anew by a
// person who knows how: they find accidents and careless hands, not forgeries. For this folder
// only.

/// SHA-256 of all that counts of what a run's attempts left: values, events, log, checkpoints'
/// digests, results, environment. Dates, paths of checkpoints and what `acid gc` or `acid doctor
/// --repair` changes are left out. Reads all of it.
std::string proof_of(const sqlite::Connection& connection, std::int64_t run);

/// Writes the seals of rows that acid has just written.
void seal_run(const sqlite::Connection& connection, std::int64_t run);
/// The experiment's own, and those of its runs' places and labels in it.
void seal_experiment(const sqlite::Connection& connection, std::int64_t experiment);
/// Rows about a run that an earlier acid wrote get the seals that they lack.
void seal_what_is_not(const sqlite::Connection& connection, std::int64_t run);
/// What of a run's settings, its labels and the recipes that asked for it is not as it was written,
/// a sentence each. Rows without a seal say nothing, or with `all_sealed` that they have none.
std::vector<std::string> broken_seals(const sqlite::Connection& connection, std::int64_t run,
                                      bool all_sealed);

}  // namespace acid
