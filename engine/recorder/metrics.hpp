#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace acid {

/// What a metric is of, which decides where a run has it.
enum class MetricOf {
  gradients,  // since the last sample; a run without gradients has none
  samples,    // at every sample
  mean,       // at evaluations, of the consensus mean
  held_out,   // of it, on the examples that task.validation holds out
  workers     // of the workers' own models, where evaluation.workers says
};

/// A metric's place in a list, from 1, and what it is called there; 0: it is not in the list. Of
/// equal places the one that is declared first comes first.
struct InList {
  int place = 0;
  std::string_view words = {};
};

/// All that is known of a metric. Its name is a contract with scripts; its unit and direction are
/// stored and shown beside it. Whatever goes by metric follows from its declaration.
struct Metric {
  std::string_view name = {};
  std::string_view unit = "1";  // "1" for pure numbers
  int better = 0;               // −1: lower is better, +1: higher is better, 0: neither
  MetricOf of = MetricOf::samples;
  std::string_view meaning = {};  // a row of store/SCHEMA.md
  std::string_view from = {};     // the recorded metric that a derived one is made of
  bool of_accuracy = false;       // shares of right answers: only tasks with classes have it
  bool counted = false;           // or timed, not computed from a model's parameters
  bool of_the_clock = false;      // of two executions against the clock each has its own
  int rounded_since = 1;          // first version of events (worker/recording.hpp) with its bits
  InList target = {};             // budget.target may name it
  InList outcome = {};  // runs can be compared by it; a task that has several by the first
  InList way = {};      // the cost of reaching the target, as an outcome
  InList search = {};   // a search may choose by it; unless said by the first
  InList search_without_data = {};  // the same of a task without examples
  InList key = {};                  // the first that a run has is shown beside it
  InList column = {};               // `acid compare` has it
  InList further = {};              // files have it as well, where no metrics are named
  InList verdict = {};              // a column of the page's table of verdicts
  InList curve = {};                // a chart of the page
  bool logarithmic = false;         // the chart
  bool folded = false;              // under "More curves", and only where some run's value changes
};

/// What runs record, and what reports derive (reports/compare.hpp says how).
#define RECORDED(...) Metric{__VA_ARGS__},
#define DERIVED(...)
inline constexpr std::array kMetrics = {
#include "engine/recorder/metrics.inc"
};
#undef RECORDED
#undef DERIVED
#define RECORDED(...)
#define DERIVED(...) Metric{__VA_ARGS__},
inline constexpr std::array kDerivedMetrics = {
#include "engine/recorder/metrics.inc"
};
#undef RECORDED
#undef DERIVED

inline constexpr const char* kMidConsensus = "consensus_distance_mid";

/// nullptr when unknown.
constexpr const Metric* find_metric(std::string_view name) {
  const auto* const found = std::ranges::find(kMetrics, name, &Metric::name);
  return found == kMetrics.end() ? nullptr : found;
}
constexpr bool of_accuracy(std::string_view name) {
  const Metric* const known = find_metric(name);
  return known != nullptr && known->of_accuracy;
}

/// The name of a recorded metric: any other does not compile.
struct MetricName {
  std::string_view name;
  consteval MetricName(const char* known) : name(known) {  // NOLINT: a name is its text
    if (find_metric(name) == nullptr) throw "there is no such metric";
  }
};

namespace detail {
template <auto list>
constexpr auto metrics_in() {
  constexpr auto has = [](const Metric& metric) { return (metric.*list).place > 0; };
  std::array<Metric, static_cast<std::size_t>(std::ranges::count_if(kMetrics, has) +
                                              std::ranges::count_if(kDerivedMetrics, has))>
      sorted;
  std::size_t count = 0;
  const auto add = [&](const Metric& metric) {
    if (!has(metric)) return;
    std::size_t at = count++;
    for (; at > 0 && (sorted[at - 1].*list).place > (metric.*list).place; --at)
      sorted[at] = sorted[at - 1];
    sorted[at] = metric;
  };
  for (const Metric& metric : kMetrics) add(metric);
  for (const Metric& metric : kDerivedMetrics) add(metric);
  return sorted;
}
}  // namespace detail

/// The metrics in a list, in its order: kMetricsIn<&Metric::curve>.
template <auto list>
inline constexpr auto kMetricsIn = detail::metrics_in<list>();
template <auto list>
constexpr bool is_in(std::string_view metric) {
  return std::ranges::find(kMetricsIn<list>, metric, &Metric::name) != kMetricsIn<list>.end();
}

/// Outcomes of a whole run.
inline constexpr auto& kOutcomes = kMetricsIn<&Metric::outcome>;
/// Outcomes of a run with a target.
inline constexpr auto& kWaysToTarget = kMetricsIn<&Metric::way>;
constexpr bool is_outcome(std::string_view metric) { return is_in<&Metric::outcome>(metric); }
constexpr bool is_way_to_target(std::string_view metric) { return is_in<&Metric::way>(metric); }

/// The metric that must be recorded for a run to have the outcome.
constexpr std::string_view recorded_for(std::string_view outcome) {
  const auto* const derived = std::ranges::find(kDerivedMetrics, outcome, &Metric::name);
  return derived == kDerivedMetrics.end() || derived->from.empty() ? outcome : derived->from;
}

}  // namespace acid
