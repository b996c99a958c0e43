// What a comparison takes from the store: summaries, settings, derived metrics.
#include <algorithm>
#include <map>

#include "engine/recorder/metrics.hpp"
#include "reports/compare.hpp"
#include "reports/curves.hpp"

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

void add_target(const Store& store, RunSummary& run, const nlohmann::json& settings) {
  const nlohmann::json::json_pointer place("/budget/target");
  if (!settings.contains(place) || !settings.at(place).is_object()) return;
  const nlohmann::json& target = settings.at(place);
  const auto name = target.value("metric", std::string());
  const double goal = target.value("value", 0.0);
  const Metric* metric = find_metric(name);
  const bool higher = metric != nullptr && metric->better > 0;
  for (const Series& series : read_series(store, run.id, name, true)) {
    const auto reached =
        std::find_if(series.points.begin(), series.points.end(), [&](const SeriesPoint& point) {
          return higher ? point.value >= goal : point.value <= goal;
        });
    if (reached == series.points.end()) continue;
    run.metrics["gradients_to_target"] = static_cast<double>(reached->position.gradients);
    run.metrics["seconds_to_target"] = reached->position.seconds;
    run.metrics["bytes_to_target"] = static_cast<double>(reached->position.bytes);
  }
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
                              const nlohmann::json& settings) {
  ComparedRun run{summary, settings};
  if (summary.state != RunState::finished) return run;
  add_totals(run.summary.metrics, summary.progress);
  add_target(store, run.summary, run.settings);
  return run;
}

Comparison compare(const Store& store, const std::vector<std::string>& run_ids,
                   const CompareOptions& options) {
  std::vector<ComparedRun> runs;
  for (const RunSummary& summary : run_summaries(store, run_ids)) {
    ComparedRun run = read_compared_run(store, summary, run_detail(store, summary.id).settings);
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
  return compare_runs(runs, options);
}

}  // namespace acid
