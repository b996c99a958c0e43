// What a comparison takes from the store: summaries, settings, derived metrics.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/compare.hpp"
#include "reports/curves.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr double kMidFromShare = 0.2, kMidToShare = 0.5;

void add_totals(std::map<std::string, double>& metrics, const Position& end) {
  metrics["gradients"] = static_cast<double>(end.gradients);
  metrics["seconds"] = end.seconds;
  metrics["bytes"] = static_cast<double>(end.bytes);
  if (end.seconds > 0)
    metrics["gradients_per_second"] = static_cast<double>(end.gradients) / end.seconds;
}

std::optional<Target> target_of(const nlohmann::json& settings) {
  const nlohmann::json::json_pointer place("/budget/target");
  if (!settings.contains(place) || !settings.at(place).is_object()) return std::nullopt;
  const nlohmann::json& target = settings.at(place);
  return Target{target.value("metric", std::string()), target.value("value", 0.0)};
}

void add_target(const Store& store, RunSummary& run, const Target& target) {
  for (const Series& series : read_series(store, run.id, target.metric, true)) {
    const auto reached = first_at(series.points, target);
    if (!reached) continue;
    run.metrics["gradients_to_target"] = static_cast<double>(reached->position.gradients);
    run.metrics["time_to_target"] = reached->position.normalised_time;
    run.metrics["seconds_to_target"] = reached->position.seconds;
    run.metrics["bytes_to_target"] = static_cast<double>(reached->position.bytes);
  }
}

// The values of the run's series there, in place of the last ones, and the position of the latest.
std::optional<Position> read_at(const Store& store, RunSummary& run, const ReadAt& at) {
  std::optional<Position> position;
  for (const Series& series : read_series(store, run.id, {}, true)) {
    const auto sample = sample_at(series.points, at, series.metric, run.progress);
    if (!sample) {
      run.metrics.erase(series.metric);
      continue;
    }
    run.metrics[series.metric] = sample->value;
    if (!position || position->gradients < sample->position.gradients) position = sample->position;
  }
  return position;
}

void note_target(Comparison& comparison, const Target& target) {
  std::size_t runs = 0, reached = 0;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      ++runs;
      reached += run.metrics.count("gradients_to_target");
    }
  comparison.notes.push_back(
      fmt::format("{} of {} runs reached {} = {}{}", reached, runs, target.metric,
                  format_number(target.value, 6),
                  reached == runs ? "" : "; what is said of reaching it leaves out the others"));
}

bool wants_consensus(const std::vector<std::string>& metrics) {
  return metrics.empty() ||
         std::find(metrics.begin(), metrics.end(), "consensus_distance_mid") != metrics.end();
}

}  // namespace

std::optional<double> consensus_mid(const RunSummary& run, const std::vector<SeriesPoint>& points) {
  const std::int64_t budget =
      run.budget_gradients > 0 ? run.budget_gradients : run.progress.gradients;
  return window_mean(points, budget, kMidFromShare, kMidToShare);
}

ComparedRun read_compared_run(const Store& store, const RunSummary& summary,
                              const nlohmann::json& settings, const CompareOptions& options) {
  ComparedRun run{summary, settings};
  if (summary.state != RunState::finished) return run;
  std::optional<Position> end = summary.progress;
  if (options.at.kind != ReadAt::Kind::last) {
    const auto there = read_at(store, run.summary, options.at);
    if (options.at.kind == ReadAt::Kind::coordinate) end = there;
  }
  if (end) add_totals(run.summary.metrics, *end);
  if (const auto target = options.target ? options.target : target_of(settings))
    add_target(store, run.summary, *target);
  return run;
}

Comparison compare(const Store& store, const std::vector<std::string>& run_ids,
                   const CompareOptions& options) {
  std::vector<ComparedRun> runs;
  for (const RunSummary& summary : run_summaries(store, run_ids)) {
    ComparedRun run =
        read_compared_run(store, summary, run_detail(store, summary.id).settings, options);
    if (summary.metrics.count("consensus_distance") > 0 && wants_consensus(options.metrics))
      for (const Series& series : read_series(store, summary.id, "consensus_distance", true))
        if (const auto mid = consensus_mid(summary, series.points))
          run.summary.metrics["consensus_distance_mid"] = *mid;
    runs.push_back(std::move(run));
  }
  // The store may answer in an order of its own; a comparison is in the order asked for.
  std::map<std::string, std::size_t> place;
  for (std::size_t k = 0; k < run_ids.size(); ++k) place.emplace(run_ids[k], k);
  std::stable_sort(runs.begin(), runs.end(), [&](const ComparedRun& a, const ComparedRun& b) {
    return place[a.summary.id] < place[b.summary.id];
  });
  Comparison comparison = compare_runs(runs, options);
  if (const std::string at = describe(options.at); !at.empty())
    comparison.notes.push_back("metrics are read " + at);
  if (options.target) note_target(comparison, *options.target);
  return comparison;
}

}  // namespace acid
