#include "reports/curves.hpp"

#include <algorithm>
#include <cmath>

#include "reports/statistics.hpp"

namespace acid {

int cell_of(double x, double end, int cells) {
  return std::clamp(static_cast<int>(x / end * cells), 0, cells - 1);
}

void MeanHeight::add(double x, double y) {
  const double before = any_ ? y_ : y;
  if (x_ < end_) {
    const double to = std::min(x, end_);
    const double there = x > to ? before + (y - before) * (to - x_) / (x - x_) : y;
    area_ += (before + there) / 2 * (to - x_);
  }
  any_ = true;
  x_ = x;
  y_ = y;
}

std::optional<double> MeanHeight::value() const {
  if (!any_ || !(end_ > 0)) return std::nullopt;
  return (area_ + (x_ < end_ ? y_ * (end_ - x_) : 0)) / end_;
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

Band band_over_seeds(const std::vector<std::vector<double>>& seeds,
                     const std::vector<double>& places, bool geometric) {
  Band band;
  if (seeds.empty()) return band;
  std::vector<double> values(seeds.size());
  for (std::size_t cell = 0; cell < places.size(); ++cell) {
    if (!std::isfinite(places[cell])) continue;
    for (std::size_t s = 0; s < seeds.size(); ++s)
      values[s] = geometric ? std::log(seeds[s][cell]) : seeds[s][cell];
    const Estimate e = estimate(values);
    if (!std::isfinite(e.mean)) continue;
    const auto back = [&](double value) { return geometric ? std::exp(value) : value; };
    band.add(places[cell], back(e.mean), back(e.ci_low.value_or(e.mean)),
             back(e.ci_high.value_or(e.mean)));
  }
  return band;
}

}  // namespace acid
