#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>

#include "cli/plan_outlook.hpp"

namespace acid {

/// How long what is left of a plan takes on this machine. An estimate.
struct TimeLeft {
  double seconds = 0;           // of the runs of which it is known
  std::size_t to_do = 0;        // runs that are not over
  std::size_t unknown = 0;      // of these: of so many it is not known
  std::string why;              // they are not known
  std::set<std::string> shown;  // by these finished runs of the store
  std::set<std::string> hosts;  // on which these were executed
  std::size_t probed = 0;       // runs whose gradients a probe measured
  std::size_t jobs = 1;         // at a time

  /// "What is left takes about 2 h on this machine, one run at a time, as 22 finished runs show."
  std::string words() const;
  /// {"seconds_estimated", "source": "runs", "probe" or null, "from_runs", "jobs", "runs_to_do",
  /// "runs_unknown", "why_unknown"}.
  nlohmann::json to_json() const;
};

/// By the finished runs of the store, those of the same group if there are any, else of the same
/// task and driver; `store` may be null. With `probe`, for the others acid-worker computes
/// gradients for about a second. `jobs`: as `acid run --jobs`; runs at once are taken not to slow
/// each other.
TimeLeft estimate_time_left(const Outlook& outlook, const Store* store, bool probe,
                            std::size_t jobs);

}  // namespace acid
