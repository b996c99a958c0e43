#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/hosts.hpp"
#include "reports/run_names.hpp"
#include "store/queries.hpp"

namespace acid {

/// A run as a live view shows it.
struct WatchedRun {
  RunSummary summary;
  SettingName setting;              // its difference from the other runs of its algorithm
  std::optional<AttemptPace> pace;  // absent before its first attempt
  std::optional<double> gradients_per_second;  // wall clock; absent unless it is running
  std::optional<double> exchanges_per_second;  // as above; absent also without a count
  std::vector<double> history;                 // of key_metric(), oldest first, thinned out
};

/// A host, or a task of a batch job there, with the pace of what is under way.
struct WatchedHost {
  HostWork work;
  std::optional<double> gradients_per_second;  // of all its runs together; absent: not known
  std::optional<double> exchanges_per_second;
};

/// Seconds until the budget is used up at the present pace; absent when the pace is unknown.
std::optional<double> seconds_left(const WatchedRun& run);
/// One block character per value, its height between the smallest and the largest; "·" for a value
/// that is not finite.
std::string sparkline(const std::vector<double>& values);

/// The runs as aligned lines under a line of titles; less important columns are left out until the
/// lines fit into `columns`. Without `colour` there are no escape sequences.
std::vector<std::string> to_lines(const std::vector<WatchedRun>& runs, int columns, bool colour);
/// Hosts under a line of titles, then what was lost: about `most` lines, and one more that counts
/// the rest. Widths and colours as above.
std::vector<std::string> to_lines(const std::vector<WatchedHost>& hosts,
                                  const std::vector<LostAttempt>& lost, std::size_t most,
                                  int columns, bool colour);
/// The keys of `acid list --json`, and attempt, host, pid, seconds, gradients_per_second,
/// exchanges_per_second, seconds_left, fraction, metric, history. Unknown values are null.
nlohmann::json to_json(const WatchedRun& run);
/// {"host", "task", "running": ids, "finished", "gradients_per_second", "exchanges_per_second",
/// "lost", "taken_over", "last_sign", "silent_seconds"}.
nlohmann::json to_json(const WatchedHost& host);
/// {"run", "lost_on", "gradients", "taken_over_by", "from_gradients"}; the last two are null while
/// it waits for a process.
nlohmann::json to_json(const LostAttempt& lost);

}  // namespace acid
