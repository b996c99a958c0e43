#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace acid {

// Digests that tell what acid wrote from what was changed since. A person who knows how can compute
// all of them anew: they find accidents and careless changes, not forgeries. For this folder only.

/// How attempt a ended. The end of an attempt whose process vanished is digested in the form that
/// `acid doctor --repair` and the next attempt write. A macro, so that it joins literals.
#define ACID_HOW_IT_ENDED                                                                \
  "iif(a.outcome IS NULL, a.heartbeat, a.ended), coalesce(a.outcome, 'interrupted'),"    \
  " iif(a.outcome IS NULL, 'process ' || a.pid || ' on host ' || a.host || ' was gone'," \
  " a.message)"

/// SHA-256 of each part of what a run's attempts left (values, events, log, and so on), without
/// what is superseded, and of its prediction, if it has one.
using Left = std::map<std::string, std::string>;
inline constexpr const char* kExecutionPart = "execution";
inline constexpr const char* kPredictionPart = "prediction";
inline constexpr const char* kVerificationsPart = "verifications";

/// Reads all parts, which takes as long as reading the run.
Left left_of(const sqlite::Connection& connection, std::int64_t run);
std::string part_of(const sqlite::Connection& connection, std::int64_t run, std::string_view part);
/// A part's name in a sentence: "its event log".
std::string_view title_of_part(std::string_view part);
/// SHA-256 of what a verification covers: all parts but the verifications themselves.
std::string proof_of(const Left& left);

// Seals of rows that acid has just written.

void seal_run(const sqlite::Connection& connection, std::int64_t run);
/// Seals the experiment's row, and the list of its runs.
void seal_experiment(const sqlite::Connection& connection, std::int64_t experiment);
/// Seals a run's label and role in the experiment.
void seal_member(const sqlite::Connection& connection, std::int64_t experiment,
                 std::int64_t position);
void seal_members(const sqlite::Connection& connection, std::int64_t experiment);
/// Seals the list of experiments and the list of runs.
void seal_lists(const sqlite::Connection& connection);
/// Seals what the run left, in the row of its newest attempt, which has ended.
void seal_left(const sqlite::Connection& connection, std::int64_t run);

/// A change that acid makes to a part of what an ended run left. Afterwards the part is sealed
/// anew, but only if its seal held before. A run whose process was killed gets its first seal.
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

/// What a run left in one place, and which parts of it are as they were written: to seal the same
/// in another place, or among more attempts.
class SealedLeft {
 public:
  SealedLeft(const sqlite::Connection& connection, std::int64_t run);
  /// The run has not ended, so it has no seal yet.
  bool is_open() const { return is_open_; }
  bool holds(const std::string& part) const;
  /// Whether everything holds but the prediction, which is older than what the attempts left.
  bool is_sound() const;
  std::string proof() const { return proof_of(left_); }
  /// Seals a run that has the same counting attempts, except for what did not hold here. Its
  /// verifications with the proof `kProven` are of what is there. A run that was killed gets its
  /// first seal if it has been verified.
  void seal_there(const sqlite::Connection& connection, std::int64_t run,
                  bool prediction_holds) const;
  static constexpr const char* kProven = "proven";

 private:
  Left left_;
  std::map<std::string, std::string> seal_;
  bool is_open_ = false;
};

/// Whether a part of what the run left is as it was written. A run that has not ended has no seal,
/// and then it is.
bool part_holds(const sqlite::Connection& connection, std::int64_t run, const std::string& part);

std::string digest_of_tags(const sqlite::Connection& connection);
/// Seals all tags and notes.
void seal_tags(const sqlite::Connection& connection);
/// Whether they are as they were written. A missing seal holds only where there are none.
bool tags_are_sealed(const sqlite::Connection& connection);
inline constexpr const char* kBrokenTags = "the tags or notes are not as they were written";

/// Whether the lists of experiments and runs are as they were written. A missing seal does not
/// hold.
bool lists_are_sealed(const sqlite::Connection& connection);
inline constexpr const char* kBrokenLists =
    "the list of experiments, runs, or which run belongs to which is not as it was written";
inline constexpr const char* kNotWhatWasVerified =
    "what the run left (values, events, log, digests, results) is not what was verified";

// What is not as it was written, one sentence for each thing.

std::vector<std::string> broken_experiment(const sqlite::Connection& connection,
                                           std::int64_t experiment);
/// Checks the run's own row and what its attempts left.
std::vector<std::string> broken_run(const sqlite::Connection& connection, std::int64_t run,
                                    const Left& left);
bool run_row_is_sealed(const sqlite::Connection& connection, std::int64_t run);
/// As broken_run(), and also checks the experiments that asked for the run, and the lists.
std::vector<std::string> broken_seals(const Store& store, std::int64_t run, const Left& left);

/// Renews the seals of a store that comes from an earlier version: rows whose old seals hold, and
/// rows without a seal, get seals of this version.
void seal_again(const sqlite::Connection& connection);

}  // namespace acid
