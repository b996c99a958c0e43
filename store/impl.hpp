#pragma once

#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/open.hpp"
#include "store/store.hpp"

namespace acid {

/// Which seals hold, of what runs share: found once for many runs, as long as nothing is written.
struct KnownSeals {
  std::string moment;
  /// By number: broken_experiment().
  std::unordered_map<std::int64_t, std::vector<std::string>> experiments;
  std::optional<bool> lists;
};

/// What a Store holds. For this folder only.
struct Store::Impl {
  Impl(std::string store_folder, Access access) : folder(std::move(store_folder)) {
    if (access == Access::read)
      reading.emplace(open_for_reading(folder));
    else
      writing.emplace(folder, WritingConnection::Durability::every_commit);
  }
  const sqlite::Connection& connection() const { return reading ? *reading : writing->get(); }
  sqlite::Connection& connection() { return reading ? *reading : writing->get(); }
  /// Empty when something was written meanwhile.
  KnownSeals& known_seals() const;

  std::string folder;
  std::optional<sqlite::Connection> reading;  // exactly one of the two
  std::optional<WritingConnection> writing;

 private:
  mutable KnownSeals known_seals_;
};

/// An attempt that has not ended goes on while its process lives. Of a process that cannot be seen
/// from here only the heartbeat tells, which a RunWriter renews every two seconds.
inline constexpr double kHeartbeatLostSeconds = 120;
bool goes_on(const Lease& lease, double heartbeat_age_seconds);

/// An attempt that has not ended. Of a run only the newest can be one.
struct OpenAttempt {
  std::int64_t id = 0;
  int number = 0;
  std::string run;  // its id
  std::int64_t run_number = 0;
  std::string started;
  Lease lease;
  bool goes_on = false;  // else its process is gone
};
/// Of all runs, or of the one with this number.
std::vector<OpenAttempt> open_attempts(const sqlite::Connection& connection,
                                       std::optional<std::int64_t> run = std::nullopt);

/// Opens the attempt again where somebody took its process for gone (it was held up, or cannot be
/// seen from there) and ended or verified what it had left: what it records from now on would break
/// the seal of that, and a verification of it is of another state. For a transaction in which the
/// attempt records something.
void go_on(const sqlite::Connection& connection, std::int64_t attempt);

/// Ends the run's open attempt, whose process vanished, at its last sign of life.
void end_vanished_attempt(const sqlite::Connection& connection, std::int64_t run);

/// Ids of the runs that a living process executes.
std::unordered_set<std::string> live_runs(const sqlite::Connection& connection);
/// Ids of the runs with an attempt that has neither ended nor a living process.
std::unordered_set<std::string> dead_runs(const sqlite::Connection& connection);

/// An attempt of which something is not superseded: what was recorded up to a tick.
struct ValidAttempt {
  std::int64_t id = 0;
  std::int64_t valid_until_tick = 0;  // the largest number there is when all of it counts
};
/// Those of a run, oldest first: what counts of the run, one after the other.
std::vector<ValidAttempt> valid_attempts(const sqlite::Connection& connection,
                                         const std::string& run_id);

/// The number of the run that the attempt executes. Throws StoreError when a later attempt does:
/// then nothing may be recorded of this one any more.
std::int64_t run_of(const sqlite::Connection& connection, std::int64_t attempt);

/// The column `special` beside a value (store/schema.sql).
int special_of(double value);

/// JSON as the store keeps it: compact, and valid even if a string in it was not UTF-8.
std::string json_text(const nlohmann::json& value);
/// What a column holds as JSON: an object, or null where nobody had anything to say. Throws the
/// StoreError of Statement::refuse() otherwise. `row` as there.
nlohmann::json stored_object(const sqlite::Statement& row, int column, std::string_view whose);
/// A list of whole numbers, none negative, or of texts.
std::vector<std::int64_t> stored_counts(const sqlite::Statement& row, int column,
                                        std::string_view whose);
std::vector<std::string> stored_texts(const sqlite::Statement& row, int column,
                                      std::string_view whose);

/// A state by its name. Throws likewise.
RunState stored_state(const sqlite::Statement& row, int column, std::string_view whose);

/// The id of a run, which becomes the name of a folder and a file: 12 digits of a digest. Throws
/// StoreError otherwise.
std::string stored_run_id(const sqlite::Statement& row, int column);

// What numbers in a sound store are at most (recipes/, and what a double holds exactly).
inline constexpr std::int64_t kMostWorkers = 1'000'000;
inline constexpr std::int64_t kMostGradients = std::int64_t{1} << 53;
inline constexpr std::int64_t kMostRows = std::int64_t{1} << 40;  // of anything: ticks, chunks, …
inline constexpr std::int64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

}  // namespace acid
