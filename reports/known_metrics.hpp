#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "engine/recorder/metrics.hpp"
#include "engine/recorder/outcomes.hpp"

namespace acid {

/// What reports derive from what is recorded (reports/compare.hpp says how).
inline constexpr std::array kDerivedMetrics = {
    Metric{"consensus_distance_mid", "1", "mean consensus distance over 20-50 % of the budget", -1},
    Metric{"gradients_to_target", "1", "gradients until the target was reached", -1},
    Metric{"time_to_target", "1", "normalised time until the target was reached", -1},
    Metric{"seconds_to_target", "s", "seconds until the target was reached", -1},
    Metric{"bytes_to_target", "bytes", "bytes sent until the target was reached", -1},
    Metric{"exchanges_to_target", "1", "exchanges until the target was reached", -1},
    Metric{"auc_eval_accuracy", "1", "mean height of the curve of eval_accuracy", +1},
    Metric{"auc_eval_loss", "1", "mean height of the curve of eval_loss", -1},
    Metric{"gradients", "1", "gradients in all", 0},
    Metric{"seconds", "s", "seconds in all", 0},
    Metric{"bytes", "bytes", "bytes sent in all", 0},
    Metric{"gradients_per_second", "1/s", "gradients per second", +1},
};

/// "eval_loss_at_equal_seconds" is eval_loss where all have run equally long
/// (reports/equal_places.hpp).
inline constexpr std::string_view kAtEqual = "_at_equal_";
constexpr std::string_view base_metric(std::string_view name) {
  return name.substr(0, name.find(kAtEqual));
}
constexpr bool is_at_equal_place(std::string_view name) { return base_metric(name) != name; }

/// A recorded or derived metric; nullptr when unknown.
constexpr const Metric* known_metric(std::string_view name) {
  name = base_metric(name);
  for (const Metric& metric : kDerivedMetrics)
    if (metric.name == name) return &metric;
  return find_metric(name);
}

/// +1: higher is better, −1: lower is better, 0: neither, or nobody knows. Whatever is said of
/// better and worse in a report comes from here.
constexpr int better_direction(std::string_view metric) {
  const Metric* const known = known_metric(metric);
  return known == nullptr ? 0 : known->better;
}

/// A run that does not reach its target has none of these: its value is censored, not missing.
constexpr bool is_to_target(std::string_view metric) { return metric.ends_with("_to_target"); }

/// Counted or timed, not computed from a model's parameters. What it takes to a target is, as the
/// target is.
constexpr bool is_counted(std::string_view metric) {
  constexpr std::array kCounts{std::string_view{"gradients"}, std::string_view{"exchanges"},
                               std::string_view{"idle_share"}, std::string_view{"learning_rate"}};
  const Metric* const known = known_metric(metric);
  if (known == nullptr || is_to_target(metric)) return false;
  return known->unit != "1" || std::ranges::find(kCounts, known->name) != kCounts.end();
}

}  // namespace acid
