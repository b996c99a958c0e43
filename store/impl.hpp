#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

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

/// An attempt that has not ended goes on while its process lives. Of a process on another host only
/// the heartbeat tells, which a RunWriter renews every two seconds.
inline constexpr double kHeartbeatLostSeconds = 120;
bool goes_on(const Lease& lease, double heartbeat_age_seconds);

/// Run ids whose newest attempt has neither ended nor a living process.
std::unordered_set<std::string> dead_runs(const sqlite::Connection& connection);

/// JSON as the store keeps it: compact, and valid even if a string in it was not UTF-8.
std::string json_text(const nlohmann::json& value);

}  // namespace acid
