#pragma once

#include <algorithm>
#include <string_view>

#include "engine/recorder/metrics.hpp"

namespace acid {

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
  const auto* const derived = std::ranges::find(kDerivedMetrics, name, &Metric::name);
  return derived == kDerivedMetrics.end() ? find_metric(name) : derived;
}

/// +1: higher is better, −1: lower is better, 0: neither, or unknown. Everything that a report says
/// about better and worse comes from here.
constexpr int better_direction(std::string_view metric) {
  const Metric* const known = known_metric(metric);
  return known == nullptr ? 0 : known->better;
}

/// Bytes and seconds are written in a unit that a person would choose (format_metric_value()).
constexpr bool has_unit(std::string_view metric) {
  const Metric* const known = known_metric(metric);
  return known != nullptr && (known->unit == "bytes" || known->unit == "s");
}

/// Read on the run's clock: seconds, a number per second, or a value at equal seconds.
constexpr bool is_on_clock(std::string_view metric) {
  return metric.find("second") != std::string_view::npos;
}

/// A run that misses its target has none of these: its value is censored, not missing.
constexpr bool is_to_target(std::string_view metric) { return metric.ends_with("_to_target"); }

/// Counted or timed, not computed from a model's parameters. The way to a target is counted if the
/// target's metric is.
constexpr bool is_counted(std::string_view metric) {
  const Metric* const known = known_metric(metric);
  return known != nullptr && known->counted;
}

}  // namespace acid
