// What a comparison takes from the store: summaries, settings, derived metrics.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare_notes.hpp"
#include "reports/curves.hpp"
#include "reports/known_metrics.hpp"
#include "reports/parallel_reader.hpp"
#include "reports/realised_rate.hpp"

namespace acid {
namespace {

constexpr double kMidFromShare = 0.2, kMidToShare = 0.5;
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

/// Samples on both sides of a place, of a metric that has any before it.
struct Around {
  SeriesPoint before;
  std::optional<SeriesPoint> after;

  double gap(PositionAxis axis, double value) const {
    const double from = coordinate(before.position, axis);
    if (from == value) return 0;
    return (after ? coordinate(after->position, axis) : value) - from;
  }
  /// On the line between them; level after the last. Nothing where one of them is not finite.
  std::optional<double> at(PositionAxis axis, double value) const {
    const double from = coordinate(before.position, axis);
    if (from == value) return before.value;
    const double there = after
                             ? between(before.value, after->value,
                                       (value - from) / (coordinate(after->position, axis) - from))
                             : before.value;
    return std::isfinite(there) ? std::optional(there) : std::nullopt;
  }
};

std::map<std::string, Around> samples_around(const Store& store, const std::string& run_id,
                                             PositionAxis axis, double value) {
  std::map<std::string, Around> around;
  for (const auto& [metric, sample] : samples_until(store, run_id, axis, value))
    around[metric].before = sample;
  for (const auto& [metric, sample] : samples_beyond(store, run_id, axis, value))
    if (const auto found = around.find(metric); found != around.end()) found->second.after = sample;
  return around;
}

/// How far on the way to the sample that reached the target it was reached.
double crossing(const Reached& reached, double target) {
  if (!reached.before || reached.first.value == reached.before->value) return 1;
  const double share =
      (target - reached.before->value) / (reached.first.value - reached.before->value);
  return std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 1;
}

void add_target(const Store& store, ComparedRun& compared, const Target& target) {
  RunSummary& run = compared.summary;
  const auto reached = first_reaching(store, run.id, target.metric, target.value,
                                      better_direction(target.metric) > 0);
  if (!reached) return;
  const SeriesPoint& from = reached->before ? *reached->before : reached->first;
  const double share = crossing(*reached, target.value);
  const auto there = [&](PositionAxis axis) {
    return between(coordinate(from.position, axis), coordinate(reached->first.position, axis),
                   share);
  };
  const double time = there(PositionAxis::normalised_time);
  if (!run.budget_time) run.metrics["gradients_to_target"] = there(PositionAxis::gradients);
  run.metrics["time_to_target"] = time;
  run.metrics["seconds_to_target"] = there(PositionAxis::seconds);
  run.metrics["bytes_to_target"] = there(PositionAxis::bytes);
  compared.target_gap =
      static_cast<double>(reached->first.position.gradients - from.position.gradients);
  const auto samples = samples_around(store, run.id, PositionAxis::normalised_time, time);
  if (const auto exchanges = samples.find("exchanges"); exchanges != samples.end())
    if (const auto value = exchanges->second.at(PositionAxis::normalised_time, time))
      run.metrics["exchanges_to_target"] = *value;
}

void read_best(const Store& store, RunSummary& run) {
  for (const auto& [metric, value] : best_values(store, run.id)) run.metrics[metric] = value;
}

/// Whose values are looked at: of others it does not matter how far apart their samples are.
bool is_shown(const CompareOptions& options, std::string_view metric) {
  if (!options.metrics.empty()) return is_wanted(options, metric);
  return metric == "consensus_distance" ||
         std::ranges::find(kOutcomes, metric, &OutcomeMetric::name) != kOutcomes.end();
}

void refuse_guess(const RunSummary& run, const std::string& metric, double gap, const ReadAt& at) {
  constexpr double kFar = 0.2;  // of the way there
  if (gap <= kFar * at.value) return;
  throw UsageError(fmt::format(
      "--at: run {} ({}, seed {}) has no sample of {} near {}: those around it are {:.4g} {} "
      "apart, "
      "more than a fifth of the way there, so a value between them would be a guess; evaluate more "
      "often ([evaluation] every_seconds, every_gradients or every_time), or read later",
      run.id, run.label, run.seed, metric, place_of(at), gap, unit_of(at.axis)));
}

/// Where the run stood there, by the closest samples of any metric.
std::optional<Position> position_there(const std::map<std::string, Around>& samples,
                                       const Position& end, const ReadAt& at) {
  if (samples.empty()) return std::nullopt;
  const auto place = [&](const Position& position) { return coordinate(position, at.axis); };
  std::optional<Position> from;
  Position to = end;
  for (const auto& [metric, sample] : samples) {
    if (!from || place(*from) < place(sample.before.position)) from = sample.before.position;
    if (sample.after && place(sample.after->position) < place(to)) to = sample.after->position;
  }
  const double way = place(to) - place(*from);
  return between(*from, to, way > 0 ? (at.value - place(*from)) / way : 0);
}

/// The values of the run's series there, in place of the last ones, and where that is.
std::optional<Position> read_there(const Store& store, ComparedRun& run,
                                   const CompareOptions& options) {
  const ReadAt& at = options.at;
  run.summary.metrics.clear();
  if (!has_come_to(run.summary, run.settings, at)) return std::nullopt;
  const auto samples = samples_around(store, run.summary.id, at.axis, at.value);
  for (const auto& [metric, sample] : samples) {
    if (is_shown(options, metric)) {
      const double gap = sample.gap(at.axis, at.value);
      refuse_guess(run.summary, metric, gap, at);
      run.read_gap = std::max(run.read_gap, gap);
    }
    if (const auto value = sample.at(at.axis, at.value))
      run.summary.metrics[metric] = *value;
    else
      run.not_read.push_back(metric);
  }
  return position_there(samples, run.summary.progress, at);
}

void add_consensus_mid(const Store& store, RunSummary& run) {
  const bool timed = run.budget_time.has_value();
  const double budget = timed ? *run.budget_time : static_cast<double>(run.budget_gradients);
  const auto axis = timed ? PositionAxis::normalised_time : PositionAxis::gradients;
  if (const auto mid = mean_between(store, run.id, "consensus_distance", axis,
                                    kMidFromShare * budget, kMidToShare * budget))
    run.metrics[kMidConsensus] = *mid;
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

/// By its last sample.
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
  const bool has_consensus = summary.metrics.contains("consensus_distance");
  std::optional<Position> end = summary.progress;
  if (options.at.kind == ReadAt::Kind::best) read_best(store, run.summary);
  if (options.at.kind == ReadAt::Kind::coordinate) end = read_there(store, run, options);
  if (end) add_totals(run.summary.metrics, *end);
  if (const auto target = target_of(settings, options)) add_target(store, run, *target);
  if (has_consensus && (options.metrics.empty() || is_wanted(options, kMidConsensus)))
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
