#include "reports/curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.hpp"
#include "reports/statistics.hpp"

namespace acid {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// The straight line through the points around x; NaN outside. `next` is the first point right of
/// x, and moves forward only.
double interpolate(std::span<const CurvePoint> points, double x, std::size_t& next) {
  while (next < points.size() && points[next].x < x) ++next;
  if (next == points.size()) return kNaN;
  if (points[next].x == x) return points[next].y;
  if (next == 0) return kNaN;
  const CurvePoint &a = points[next - 1], &b = points[next];
  return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}

int cell_of(double x, double end, int cells) {
  return std::clamp(static_cast<int>(x / end * cells), 0, cells - 1);
}

}  // namespace

double coordinate(const Position& position, Axis axis) {
  switch (axis) {
    case Axis::gradients:
      return static_cast<double>(position.gradients);
    case Axis::normalised_time:
      return position.normalised_time;
    case Axis::seconds:
      return position.seconds;
    case Axis::bytes:
      return static_cast<double>(position.bytes);
  }
  ACID_ASSERT(false, "axis {}", static_cast<int>(axis));
}

std::vector<CurvePoint> points_on(std::span<const SeriesPoint> series, Axis axis) {
  std::vector<CurvePoint> points;
  points.reserve(series.size());
  for (const SeriesPoint& sample : series)
    if (std::isfinite(sample.value))
      points.push_back({coordinate(sample.position, axis), sample.value});
  return points;
}

std::optional<double> window_mean(std::span<const SeriesPoint> series, std::int64_t budget,
                                  double from_share, double to_share) {
  const double from = from_share * static_cast<double>(budget);
  const double to = to_share * static_cast<double>(budget);
  double sum = 0;
  int count = 0;
  for (const SeriesPoint& sample : series) {
    const double x = static_cast<double>(sample.position.gradients);
    if (x < from || x > to) continue;
    sum += sample.value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::vector<double> on_grid(std::span<const CurvePoint> points, double end, int cells) {
  std::vector<double> values(static_cast<std::size_t>(cells), 0.0);
  if (points.empty() || !(end > 0)) return std::vector<double>(values.size(), kNaN);
  std::vector<int> counts(values.size(), 0);
  for (const CurvePoint& point : points) {
    if (point.x < 0 || point.x > end) continue;
    const auto cell = static_cast<std::size_t>(cell_of(point.x, end, cells));
    values[cell] += point.y;
    ++counts[cell];
  }
  std::size_t next = 0;
  for (std::size_t cell = 0; cell < values.size(); ++cell) {
    const double middle = (static_cast<double>(cell) + 0.5) * end / cells;
    values[cell] =
        counts[cell] > 0 ? values[cell] / counts[cell] : interpolate(points, middle, next);
  }
  return values;
}

std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, double end, int columns) {
  if (points.size() <= 2 * static_cast<std::size_t>(columns) || !(end > 0))
    return {points.begin(), points.end()};
  std::vector<CurvePoint> kept{points.front()};
  for (std::size_t first = 0; first < points.size();) {
    const int column = cell_of(points[first].x, end, columns);
    std::size_t lowest = first, highest = first, last = first;
    for (; last < points.size() && cell_of(points[last].x, end, columns) == column; ++last) {
      if (points[last].y < points[lowest].y) lowest = last;
      if (points[last].y > points[highest].y) highest = last;
    }
    kept.push_back(points[std::min(lowest, highest)]);
    if (lowest != highest) kept.push_back(points[std::max(lowest, highest)]);
    first = last;
  }
  kept.push_back(points.back());
  return kept;
}

Band band_over_seeds(const std::vector<std::vector<double>>& seeds, double end, bool geometric) {
  Band band;
  if (seeds.empty()) return band;
  const std::size_t cells = seeds.front().size();
  std::vector<double> values(seeds.size());
  for (std::size_t cell = 0; cell < cells; ++cell) {
    for (std::size_t s = 0; s < seeds.size(); ++s)
      values[s] = geometric ? std::log(seeds[s][cell]) : seeds[s][cell];
    const Estimate e = estimate(values);
    if (!std::isfinite(e.mean)) continue;
    const auto back = [&](double value) { return geometric ? std::exp(value) : value; };
    band.x.push_back((static_cast<double>(cell) + 0.5) * end / static_cast<double>(cells));
    band.mean.push_back(back(e.mean));
    band.low.push_back(back(e.ci_low.value_or(e.mean)));
    band.high.push_back(back(e.ci_high.value_or(e.mean)));
  }
  return band;
}

}  // namespace acid
