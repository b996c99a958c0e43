#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "store/open.hpp"
#include "store/store.hpp"

namespace acid {

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

  std::string folder;
  std::optional<sqlite::Connection> reading;  // exactly one of the two
  std::optional<WritingConnection> writing;
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
  std::string started;
  Lease lease;
  bool goes_on = false;  // else its process is gone
};
/// Of all runs, or of the one with this number.
std::vector<OpenAttempt> open_attempts(const sqlite::Connection& connection,
                                       std::optional<std::int64_t> run = std::nullopt);

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
/// The other way. Throws StoreError when the text is no JSON: then somebody altered the database.
nlohmann::json stored_json(const sqlite::Connection& connection, const std::string& text);

}  // namespace acid
