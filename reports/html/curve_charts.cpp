#include "reports/html/curve_charts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html/theory.hpp"

namespace acid {
namespace {

/// The run's place on an axis at a normalised time, between its points; at its ends outside them.
double place_at(double time, const SeedCurve& seed, const CurveAxis& axis, double per_epoch) {
  const auto after = std::ranges::lower_bound(
      seed.points, time, {}, [](const SeriesPoint& p) { return p.position.normalised_time; });
  if (after == seed.points.begin()) return place_on(after->position, axis, per_epoch);
  const Position& before = (after - 1)->position;
  if (after == seed.points.end()) return place_on(before, axis, per_epoch);
  const double from = place_on(before, axis, per_epoch);
  const double to = place_on(after->position, axis, per_epoch);
  return from + (to - from) * (time - before.normalised_time) /
                    (after->position.normalised_time - before.normalised_time);
}

/// The line is in normalised time; on another axis it is at the average place of the group's runs.
std::vector<CurvePoint> on_axis(const TheoryLine& line, const std::vector<SeedCurve>& seeds,
                                const CurveAxis& axis, double per_epoch) {
  std::vector<CurvePoint> points;
  for (std::size_t k = 0; k < line.value.size(); ++k) {
    double x = 0;
    for (const SeedCurve& seed : seeds)
      x += place_at(line.normalised_time[k], seed, axis, per_epoch);
    points.push_back({x / static_cast<double>(seeds.size()), line.value[k]});
  }
  return points;
}

std::optional<ChartBound> bound_of(const ReportData& data, std::size_t g, std::size_t m) {
  if (data.metrics[m].name != "consensus_distance") return std::nullopt;
  const std::vector<SeedCurve>& seeds = data.curves[g][m].seeds;
  std::vector<CurvePoint> starts;
  double end = 0;
  for (const SeedCurve& seed : seeds) {
    starts.push_back({seed.points.front().position.normalised_time, seed.points.front().value});
    end = std::max(end, seed.points.back().position.normalised_time);
  }
  const auto line = theory_line(data.comparison.groups[g], data.networks[g], starts, end);
  if (!line || seeds.empty()) return std::nullopt;
  ChartBound bound{line->label, line->note, data.styles[g], {}};
  for (const CurveAxis& axis : data.axes)
    bound.on_axes.push_back(on_axis(*line, seeds, axis, data.gradients_per_epoch[g]));
  return bound;
}

}  // namespace

std::vector<CurveChart> curve_charts(const ReportData& data) {
  std::vector<CurveChart> charts;
  for (std::size_t p = 0; p < data.comparison.points.size(); ++p)
    for (std::size_t m = 0; m < data.metrics.size(); ++m) {
      CurveChart chart{fmt::format("c{}-{}", p, data.metrics[m].name), p, m, {}, {}};
      for (const std::size_t g : data.comparison.points[p].groups) {
        if (data.curves[g][m].seeds.empty()) continue;
        chart.groups.push_back(g);
        if (auto bound = bound_of(data, g, m)) chart.bounds.push_back(std::move(*bound));
      }
      if (!chart.groups.empty()) charts.push_back(std::move(chart));
    }
  return charts;
}

}  // namespace acid
