#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "store/queries.hpp"

namespace acid {

/// A run as `acid list --json` shows it: id, experiment, algorithm, seed, group, state, driver,
/// workers, topology, started, finished, metrics (name → last value), and more. Times that have not
/// come and numbers that are not finite are null.
nlohmann::json to_json(const RunSummary& run);

/// Everything `acid show --json` prints: the keys of to_json(RunSummary), of which `topology`
/// becomes an object, and settings, plan, seeds, environment, attempts, checkpoints, verifications,
/// digests, realised, worker_gradients, worker_idle_seconds, staleness
/// (gradients by staleness 0, 1, 2, …), files, log.
nlohmann::json to_json(const RunDetail& run);

inline nlohmann::json or_null(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

/// The recipe's label where it gave one, else the algorithm's name.
std::string shown_name(const std::string& algorithm, const std::string& label);
/// The most important of the recorded metrics: accuracy, else a loss, else the consensus distance.
/// Empty when there is none of these.
std::string key_metric(const RunSummary& run);
/// The key metric's name and last value; a dash when there is none.
std::string key_result(const RunSummary& run);

}  // namespace acid
