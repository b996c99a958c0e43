// What a comparison takes from the store: summaries, settings, derived metrics.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare_notes.hpp"
#include "reports/curves.hpp"
#include "reports/known_metrics.hpp"
#include "reports/parallel_reader.hpp"

namespace acid {
namespace {

constexpr double kMidFromShare = 0.2, kMidToShare = 0.5;
constexpr const char* kMid = "consensus_distance_mid";
constexpr std::string_view kAreaPrefix = "auc_";
constexpr std::array<std::string_view, 2> kAreaMetrics{"eval_accuracy", "eval_loss"};

bool is_wanted(const CompareOptions& options, std::string_view metric) {
  return std::ranges::find(options.metrics, metric) != options.metrics.end();
}

void add_totals(std::map<std::string, double>& metrics, const Position& end) {
  metrics["gradients"] = static_cast<double>(end.gradients);
  metrics["seconds"] = end.seconds;
  metrics["bytes"] = static_cast<double>(end.bytes);
  if (end.seconds > 0)
    metrics["gradients_per_second"] = static_cast<double>(end.gradients) / end.seconds;
}

void add_target(const Store& store, RunSummary& run, const Target& target) {
  const auto reached = first_reaching(store, run.id, target.metric, target.value,
                                      better_direction(target.metric) > 0);
  if (!reached) return;
  const Position& there = reached->position;
  if (!run.budget_time) run.metrics["gradients_to_target"] = static_cast<double>(there.gradients);
  run.metrics["time_to_target"] = there.normalised_time;
  run.metrics["seconds_to_target"] = there.seconds;
  run.metrics["bytes_to_target"] = static_cast<double>(there.bytes);
  const auto samples =
      samples_until(store, run.id, PositionAxis::normalised_time, there.normalised_time);
  if (const auto exchanges = samples.find("exchanges"); exchanges != samples.end())
    run.metrics["exchanges_to_target"] = exchanges->second.value;
}

void read_best(const Store& store, RunSummary& run) {
  for (const auto& [metric, value] : best_values(store, run.id)) run.metrics[metric] = value;
}

/// The values of the run's series there, in place of the last ones, and the position of the latest.
std::optional<Position> read_there(const Store& store, RunSummary& run, const ReadAt& at) {
  run.metrics.clear();
  if (coordinate(run.progress, at.axis) < at.value) return std::nullopt;
  std::optional<Position> position;
  for (const auto& [metric, sample] : samples_until(store, run.id, at.axis, at.value)) {
    run.metrics[metric] = sample.value;
    if (!position || position->normalised_time < sample.position.normalised_time)
      position = sample.position;
  }
  return position;
}

void add_consensus_mid(const Store& store, RunSummary& run) {
  const bool timed = run.budget_time.has_value();
  const double budget = timed ? *run.budget_time : static_cast<double>(run.budget_gradients);
  const auto axis = timed ? PositionAxis::normalised_time : PositionAxis::gradients;
  if (const auto mid = mean_between(store, run.id, "consensus_distance", axis,
                                    kMidFromShare * budget, kMidToShare * budget))
    run.metrics[kMid] = *mid;
}

class AreaVisitor final : public SeriesVisitor {
 public:
  AreaVisitor(PositionAxis axis, double end) : axis_(axis), end_(end) {}
  void positions(std::span<const Position> ticks) override { ticks_ = ticks; }
  void values(const std::string& metric, std::span<const TickValue> piece) override {
    MeanHeight& height = heights_.try_emplace(metric, end_).first->second;
    for (const TickValue& one : piece) height.add(coordinate(ticks_[one.tick], axis_), one.value);
  }
  const std::map<std::string, MeanHeight>& heights() const { return heights_; }

 private:
  const PositionAxis axis_;
  const double end_;
  std::span<const Position> ticks_;
  std::map<std::string, MeanHeight> heights_;
};

void add_areas(const Store& store, RunSummary& run, const CompareOptions& options) {
  std::vector<std::string> metrics;
  for (const std::string_view metric : kAreaMetrics)
    if ((options.derive_all && options.metrics.empty()) ||
        is_wanted(options, fmt::format("{}{}", kAreaPrefix, metric)))
      metrics.emplace_back(metric);
  const bool up_to = options.at.kind == ReadAt::Kind::coordinate;
  const double whole = coordinate(run.progress, options.at.axis);
  const double end = up_to ? options.at.value : whole;
  if (metrics.empty() || whole < end) return;
  AreaVisitor visitor(options.at.axis, end);
  visit_series(store, run.id, metrics, visitor);
  for (const auto& [metric, height] : visitor.heights())
    if (const auto value = height.value())
      run.metrics[fmt::format("{}{}", kAreaPrefix, metric)] = *value;
}

/// A target that nothing could ever reach is a slip of the pen.
void check_target(const std::vector<RunSummary>& runs, const Target& target) {
  std::set<std::string> known;
  for (const RunSummary& run : runs)
    if (run.state == RunState::finished)
      for (const auto& [metric, value] : run.metrics) known.insert(metric);
  if (known_metric(target.metric) != nullptr && better_direction(target.metric) == 0)
    throw UsageError(
        fmt::format("--target: neither more nor less {} is better, so no value of it is a target",
                    target.metric));
  if (known.empty() || known.contains(target.metric)) return;
  const std::vector<std::string> names(known.begin(), known.end());
  const auto nearest = nearest_name(target.metric, names);
  throw UsageError(fmt::format(
      "--target: no finished run here has the metric '{}'{}; they have {}", target.metric,
      nearest ? fmt::format(", did you mean {}?", *nearest) : "", one_of(names)));
}

}  // namespace

ComparedRun read_compared_run(const Store& store, const RunSummary& summary,
                              const nlohmann::json& settings, const CompareOptions& options) {
  ComparedRun run{summary, settings};
  if (summary.state != RunState::finished) return run;
  const bool has_consensus = summary.metrics.contains("consensus_distance");
  std::optional<Position> end = summary.progress;
  if (options.at.kind == ReadAt::Kind::best) read_best(store, run.summary);
  if (options.at.kind == ReadAt::Kind::coordinate) end = read_there(store, run.summary, options.at);
  if (end) add_totals(run.summary.metrics, *end);
  if (const auto target = target_of(settings, options)) add_target(store, run.summary, *target);
  if (has_consensus && (options.metrics.empty() || is_wanted(options, kMid)))
    add_consensus_mid(store, run.summary);
  add_areas(store, run.summary, options);
  return run;
}

Comparison compare(const Store& store, const std::vector<std::string>& run_ids,
                   const CompareOptions& options) {
  const std::vector<RunSummary> summaries = runs_as_asked(store, run_ids);
  const std::vector<nlohmann::json> settings = run_settings(store, run_ids);
  if (options.target) check_target(summaries, *options.target);
  std::vector<ComparedRun> runs(summaries.size());
  read_in_parallel(store, runs.size(), 0,
                   [&](const Store& own, std::size_t k) {
                     runs[k] = read_compared_run(own, summaries[k], settings[k], options);
                   },
                   {});
  return compare_runs(runs, options);
}

}  // namespace acid
