// What a comparison reads from the store: summaries, settings, derived metrics.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "reports/compare.hpp"
#include "reports/compare_notes.hpp"
#include "reports/curves.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/parallel_reader.hpp"
#include "reports/readings.hpp"
#include "reports/realised_rate.hpp"
#include "reports/tags.hpp"

namespace acid {
namespace {

constexpr std::string_view kAreaPrefix = "auc_";

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

void read_best(const Store& store, RunSummary& run) {
  for (const auto& [metric, value] : best_values(store, run.id)) run.metrics[metric] = value;
}

/// The run's position at that place, by the closest samples of any metric; nothing if they are far.
std::optional<Position> position_there(const std::map<std::string, SamplesAround>& samples,
                                       const Position& end, const ReadAt& at) {
  const auto place = [&](const Position& position) { return coordinate(position, at.axis); };
  std::optional<Position> from;
  Position to = end;
  for (const auto& [metric, around] : samples) {
    if (around.until.empty()) continue;
    const Position& before = around.until.front().position;
    if (!from || place(*from) < place(before)) from = before;
    if (!around.beyond.empty() && place(around.beyond.front().position) < place(to))
      to = around.beyond.front().position;
  }
  if (!from) return std::nullopt;
  const double way = place(to) - place(*from);
  if (place(*from) < at.value && way > kWidestBracket * at.value) return std::nullopt;
  return between(*from, to, way > 0 ? (at.value - place(*from)) / way : 0);
}

/// Replaces the last values of the run's series by those at that place. Returns its position.
std::optional<Position> read_there(const Store& store, ComparedRun& run, const ReadAt& at) {
  run.summary.metrics.clear();
  run.ended_before = end_on(at.axis, run.summary, run.settings) < at.value;
  if (run.ended_before) return std::nullopt;
  const auto samples = samples_around(store, run.summary.id, at.axis, at.value);
  for (const auto& [metric, around] : samples) {
    const auto read =
        read_between(around, at.axis, at.value, coordinate(run.summary.progress, at.axis));
    if (!read) continue;
    if (read->value) {
      run.summary.metrics[metric] = *read->value;
      run.readings[metric] = read->reading;
    } else {
      run.not_read[metric] = read->too_far ? std::optional(read->reading.apart) : std::nullopt;
    }
  }
  return position_there(samples, run.summary.progress, at);
}

/// The place in gradients of this run, if it is given in epochs.
ReadAt place_in(const Store& store, const RunSummary& run, ReadAt at) {
  if (!at.in_epochs) return at;
  const nlohmann::json plan = run_detail(store, run.id).plan;
  const auto found = plan.find("gradients_per_epoch");
  if (found == plan.end() || !found->is_number())
    throw UsageError(
        fmt::format("--at: epochs mean nothing in run {} ({}), whose task has no finite data set",
                    run.id, run.label));
  return {ReadAt::Kind::coordinate, PositionAxis::gradients, at.value * found->get<double>()};
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

void add_areas(const Store& store, RunSummary& run, const CompareOptions& options,
               const ReadAt& at) {
  std::vector<std::string> metrics;
  for (const Metric& metric : kDerivedMetrics)
    if (metric.name.starts_with(kAreaPrefix) &&
        ((options.derive_all && options.metrics.empty()) || is_wanted(options, metric.name)))
      metrics.emplace_back(metric.from);
  const double whole = coordinate(run.progress, at.axis);
  const double end = at.kind == ReadAt::Kind::coordinate ? at.value : whole;
  if (metrics.empty() || whole < end) return;
  AreaVisitor visitor(at.axis, end);
  visit_series(store, run.id, metrics, visitor);
  for (const auto& [metric, height] : visitor.heights())
    if (const auto value = height.value())
      run.metrics[fmt::format("{}{}", kAreaPrefix, metric)] = *value;
}

/// A target that no run could ever reach is a mistake in typing, and runs that did not record its
/// metric cannot be said to miss it.
void check_target(const std::vector<RunSummary>& runs, const Target& target) {
  std::set<std::string> known, with_metric, without;
  for (const RunSummary& run : runs)
    if (run.state == RunState::finished) {
      for (const auto& [metric, value] : run.metrics) known.insert(metric);
      (run.metrics.contains(target.metric) ? with_metric : without).insert(run.group);
    }
  if (known_metric(target.metric) != nullptr && better_direction(target.metric) == 0)
    throw UsageError(
        fmt::format("--target: neither more nor less {} is better, so no value of it is a target",
                    target.metric));
  if (known.contains(target.metric))
    for (const RunSummary& run : runs)
      if (without.contains(run.group) && !with_metric.contains(run.group))
        throw UsageError(fmt::format(
            "--target: runs of {} have no {}, so it is not known whether they reached it: compare "
            "without them, or by another target",
            clip(run.label, 40), target.metric));
  if (known.empty() || known.contains(target.metric)) return;
  const std::vector<std::string> names(known.begin(), known.end());
  const auto nearest = nearest_name(target.metric, names);
  throw UsageError(fmt::format(
      "--target: no finished run here has the metric '{}'{}; they have {}", target.metric,
      nearest ? fmt::format(", did you mean {}?", *nearest) : "", one_of(names)));
}

/// What the experiments of these runs searched and chose.
std::vector<Selection> selections_of(const Store& store, const std::vector<RunSummary>& runs) {
  std::vector<Selection> selections;
  std::set<std::string> seen;
  for (const RunSummary& run : runs)
    if (seen.insert(run.experiment).second)
      if (const ExperimentRecord experiment = experiment_of(store, run.experiment);
          !experiment.search.is_null())
        selections.push_back(selection_from(experiment.search));
  return selections;
}

/// By the run's last sample.
std::optional<double> realised_rate(const RunSummary& run, const nlohmann::json& settings) {
  const auto exchanges = run.metrics.find("exchanges");
  if (!nominal_rate(settings) || exchanges == run.metrics.end() || run.progress.gradients == 0)
    return std::nullopt;
  return 2 * exchanges->second / static_cast<double>(run.progress.gradients);
}

}  // namespace

ComparedRun read_compared_run(const Store& store, const RunSummary& summary,
                              const nlohmann::json& settings, const CompareOptions& options) {
  ComparedRun run;
  run.summary = summary;
  run.settings = settings;
  if (summary.state != RunState::finished) return run;
  run.realised_rate = realised_rate(summary, settings);
  std::optional<Position> end = summary.progress;
  const ReadAt at = place_in(store, summary, options.at);
  if (at.kind == ReadAt::Kind::best) read_best(store, run.summary);
  if (at.kind == ReadAt::Kind::coordinate) end = read_there(store, run, at);
  if (end) add_totals(run.summary.metrics, *end);
  add_areas(store, run.summary, options, at);
  return run;
}

Comparison compare(const Store& store, const AskedRuns& asked, const CompareOptions& options) {
  const std::vector<RunSummary> summaries = runs_as_asked(store, asked);
  const std::vector<nlohmann::json> settings = run_settings(store, asked.ids);
  if (options.target) check_target(summaries, *options.target);
  std::vector<ComparedRun> runs(summaries.size());
  read_in_parallel(store, runs.size(), 0,
                   [&](const Store& own, std::size_t k) {
                     runs[k] = read_compared_run(own, summaries[k], settings[k], options);
                   },
                   {});
  return compare_read(store, std::move(runs), summaries, options);
}

Comparison compare_read(const Store& store, std::vector<ComparedRun> runs,
                        const std::vector<RunSummary>& summaries, const CompareOptions& options) {
  const std::vector<Selection> selections = selections_of(store, summaries);
  read_in_points(store, runs, options, selections);
  Comparison comparison =
      compare_runs(std::move(runs), options, selections, comparison_plans_of(store, summaries),
                   reads_equal_places(store, options));
  comparison.tagged = tagged_among(store, summaries);
  return comparison;
}

}  // namespace acid
