#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "store/sqlite.hpp"

namespace acid {

/// Ids of the runs for which all of a person's conditions are true (store/condition.hpp). `state`
/// is the computed one: a run in `dead` is interrupted. `asked`: a JSON list of the ids of which
/// they are asked; nothing: of all runs. Conditions can read, and nothing else; UsageError when one
/// is not a single expression, names a setting that no run has, or is none that SQLite takes.
std::unordered_set<std::string> ids_where(const sqlite::Connection& connection,
                                          const std::vector<std::string>& conditions,
                                          const std::unordered_set<std::string>& dead,
                                          const std::optional<std::string>& asked);

}  // namespace acid
