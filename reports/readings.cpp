#include "reports/readings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.hpp"
#include "reports/compare.hpp"
#include "reports/compare_formats.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

/// The axis on which its samples are apart, if it is read between samples.
std::optional<PositionAxis> axis_of(const Comparison& comparison, const std::string& metric) {
  if (const auto axis = axis_of_way(metric)) return axis;
  if (is_to_target(metric)) return PositionAxis::normalised_time;
  for (const EqualPlace& place : comparison.equal)
    if (place.metric == metric) return place.axis;
  if (comparison.at.kind == ReadAt::Kind::coordinate) return comparison.at.axis;
  return std::nullopt;
}

std::string resolution_of(const std::string& metric, double value) {
  return has_unit(metric) ? format_metric_value(metric, value) : format_number(value, 2);
}

}  // namespace

std::optional<PositionAxis> axis_of_way(std::string_view metric) {
  if (metric == "gradients_to_target") return PositionAxis::gradients;
  if (metric == "time_to_target") return PositionAxis::normalised_time;
  if (metric == "seconds_to_target") return PositionAxis::seconds;
  if (metric == "bytes_to_target") return PositionAxis::bytes;
  return std::nullopt;
}

void add_readings(ComparedGroup& group, const std::string& metric,
                  const std::vector<Reading>& of_runs) {
  if (of_runs.empty()) return;
  std::vector<double> bends;
  for (const Reading& reading : of_runs) {
    group.readings[metric] = Reading::worse(group.readings[metric], reading);
    bends.push_back(reading.bend);
  }
  group.bends[metric] = estimate(bends).mean;
}

void gather_readings(Comparison& comparison, const std::vector<ComparedRun>& runs) {
  for (ComparedGroup& group : comparison.groups) {
    std::map<std::string, std::vector<Reading>> readings;
    for (const ComparedRun& run : runs)
      if (run.summary.group == group.runs_group)
        for (const auto& [metric, reading] : run.readings) readings[metric].push_back(reading);
    for (const auto& [metric, of_runs] : readings) add_readings(group, metric, of_runs);
  }
}

void refuse_if_nothing_is_read(const std::vector<ComparedRun>& runs,
                               const CompareOptions& options) {
  const ReadAt& at = options.at;
  if (at.kind != ReadAt::Kind::coordinate) return;
  const auto is_read_there = [&](const auto& metric) {
    const std::string& name = metric.first;
    return !is_to_target(name) && name != kMidConsensus &&
           (options.metrics.empty() ||
            std::ranges::find(options.metrics, name) != options.metrics.end());
  };
  const ComparedRun* refused = nullptr;
  double apart = 0;
  for (const ComparedRun& run : runs) {
    if (run.summary.state != RunState::finished) continue;
    if (std::ranges::any_of(run.summary.metrics, is_read_there)) return;
    if (refused == nullptr) refused = &run;
    for (const auto& [metric, gap] : run.not_read)
      if (gap && *gap > apart) {
        refused = &run;
        apart = *gap;
      }
  }
  if (refused == nullptr) return;
  if (apart == 0)
    throw UsageError(fmt::format("--at: no run has a value at {}; read earlier", place_of(at)));
  throw UsageError(fmt::format(
      "--at: no run has a value at {}: {}, so a value between them would be a guess; evaluate more "
      "often ([evaluation] every_seconds, every_gradients or every_time), or read later",
      place_of(at), stale_words(at.axis, apart, refused->summary.id, refused->summary.seed)));
}

std::string reading_words(const Comparison& comparison, const std::vector<std::size_t>& groups,
                          const std::string& metric) {
  const auto axis = axis_of(comparison, metric);
  if (!axis) return "";
  std::vector<std::pair<std::string, Reading>> by_label;
  for (const std::size_t g : groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto found = group.readings.find(metric);
    if (found == group.readings.end() || found->second.apart == 0) continue;
    const auto known =
        std::ranges::find(by_label, group.label, &std::pair<std::string, Reading>::first);
    if (known == by_label.end())
      by_label.emplace_back(group.label, found->second);
    else
      known->second = Reading::worse(known->second, found->second);
  }
  std::string words;
  for (const auto& [label, reading] : by_label)
    words += fmt::format("{}{} ({}, {}{})", words.empty() ? "known to within " : ", ",
                         is_to_target(metric) && metric != "exchanges_to_target"
                             ? format_on(*axis, reading.resolution)
                             : resolution_of(metric, reading.resolution),
                         label, words.empty() ? "between samples " : "",
                         format_on(*axis, reading.apart) + (words.empty() ? " apart" : ""));
  return words;
}

std::string stale_words(PositionAxis axis, double apart, const std::string& run,
                        std::uint64_t seed) {
  return fmt::format("samples around there are up to {} apart (run {}, seed {}), more than {}",
                     format_on(axis, apart), run, seed, kWidestBracketWords);
}

}  // namespace acid
