#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace acid {

// Digests that tell what acid wrote from what was changed since. They can all be computed anew by a
// person who knows how: they find accidents and careless hands, not forgeries. For this folder
// only.

/// By part of what counts of all that a run's attempts left (values, events, log, …): SHA-256.
using Left = std::map<std::string, std::string>;
inline constexpr const char* kExecutionPart = "execution";
inline constexpr const char* kVerificationsPart = "verifications";

/// Reads all of it.
Left left_of(const sqlite::Connection& connection, std::int64_t run);
std::string part_of(const sqlite::Connection& connection, std::int64_t run, std::string_view part);
/// "its event log".
std::string_view title_of_part(std::string_view part);
/// SHA-256 of what a verification is about: all parts but the verifications themselves.
std::string proof_of(const Left& left);

// Seals of rows that acid has just written.

void seal_run(const sqlite::Connection& connection, std::int64_t run);
/// The experiment's own, which is of the list of its runs too.
void seal_experiment(const sqlite::Connection& connection, std::int64_t experiment);
/// That of a run's label and role in the experiment.
void seal_member(const sqlite::Connection& connection, std::int64_t experiment,
                 std::int64_t position);
void seal_members(const sqlite::Connection& connection, std::int64_t experiment);
/// That of which experiments and runs there are.
void seal_lists(const sqlite::Connection& connection);
/// That of what the run left, in its newest attempt, which has ended.
void seal_left(const sqlite::Connection& connection, std::int64_t run);

/// A change that acid makes to a part of what an ended run left: afterwards the part is sealed
/// anew, but only where it was as it had been written. A run that was killed gets its seal.
class ChangeOfLeft {
 public:
  ChangeOfLeft(const sqlite::Connection& connection, std::int64_t run, std::string part);
  void made() const;

 private:
  const sqlite::Connection& connection_;
  const std::int64_t run_;
  const std::string part_;
  bool killed_ = false, sound_ = false;
};

/// Which experiments and runs there are is as it was written. A seal that is missing does not hold.
bool lists_are_sealed(const sqlite::Connection& connection);
inline constexpr const char* kBrokenLists =
    "the list of experiments, runs, or which run belongs to which is not as it was written";
inline constexpr const char* kNotWhatWasVerified =
    "what the run left (values, events, log, digests, results) is not what was verified";

// What is not as it was written, a sentence each.

std::vector<std::string> broken_experiment(const sqlite::Connection& connection,
                                           std::int64_t experiment);
/// Of the run's own row, and of what its attempts left.
std::vector<std::string> broken_run(const sqlite::Connection& connection, std::int64_t run,
                                    const Left& left);
/// That, and what is so of the experiments that asked for the run, and of the lists.
std::vector<std::string> broken_seals(const Store& store, std::int64_t run, const Left& left);

/// Of a store that comes from an earlier version: seals of then are looked at, and those that hold,
/// and rows without one, are sealed as they are now.
void seal_again(const sqlite::Connection& connection);

}  // namespace acid
