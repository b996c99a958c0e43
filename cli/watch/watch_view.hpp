#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_names.hpp"
#include "store/queries.hpp"

namespace acid {

/// A run as a live view shows it.
struct WatchedRun {
  RunSummary summary;
  SettingName setting;                         // what tells it from its algorithm's other runs
  std::optional<AttemptPace> pace;             // absent before its first attempt
  std::optional<double> gradients_per_second;  // wall clock; absent unless it is running
  std::optional<double> exchanges_per_second;  // likewise; absent also where none are counted
  std::vector<double> history;                 // of key_metric(), oldest first, thinned out
};

/// At the present pace, if the budget is not cut short; absent when the pace is not known.
std::optional<double> seconds_left(const WatchedRun& run);
/// One block character per value, its height between the smallest and the largest; "·" for what is
/// not finite.
std::string sparkline(const std::vector<double>& values);

/// As aligned lines under a line of titles; columns that matter less are left out until they fit
/// into `columns`. Without `colour` no escape sequences.
std::vector<std::string> to_lines(const std::vector<WatchedRun>& runs, int columns, bool colour);
/// The keys of `acid list --json`, and attempt, host, pid, seconds, gradients_per_second,
/// exchanges_per_second, seconds_left, fraction, metric, history. What is not known is null.
nlohmann::json to_json(const WatchedRun& run);

}  // namespace acid
