#include "reports/html/plot_area.hpp"

#include <algorithm>
#include <optional>

namespace acid {
namespace {

/// The share of the way between two places where all that is kept is positive.
struct PositiveShare {
  double from = 0, to = 1;

  void keep(double first, double last) {
    if (first > 0 && last > 0) return;
    const double zero = first > 0 || last > 0 ? first / (first - last) : 0;
    if (first <= 0) from = std::max(from, last > 0 ? zero : 1);
    if (last <= 0) to = std::min(to, zero);
  }
  bool any() const { return to > from; }
};

CurvePoint between(const CurvePoint& a, const CurvePoint& b, double share) {
  return {a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)};
}

}  // namespace

CurvePoint PlotArea::clamped(const CurvePoint& place) const {
  return {place.x, std::clamp(place.y, y.end, y.begin)};
}

CurvePoint PlotArea::place(double at, double value) const {
  const double far = 4 * (y.begin - y.end);
  const double there = places(value) ? y(value) : y.begin + far;
  return {x(at), std::clamp(there, y.end - far, y.begin + far)};
}

std::vector<std::vector<CurvePoint>> placed(const std::vector<CurvePoint>& points,
                                            const PlotArea& plot) {
  std::vector<std::vector<CurvePoint>> parts;
  std::optional<CurvePoint> before;
  bool inside = false;  // the last part goes on
  for (const CurvePoint& point : points) {
    if (!plot.places(point.y)) continue;
    const CurvePoint here = plot.place(point.x, point.y);
    constexpr double kRounding = 1e-6;
    PositiveShare share;
    const CurvePoint from = before.value_or(here);
    share.keep(from.y - plot.y.end + kRounding, here.y - plot.y.end + kRounding);
    share.keep(plot.y.begin - from.y + kRounding, plot.y.begin - here.y + kRounding);
    if (share.any()) {
      if (!inside) parts.push_back({between(from, here, share.from)});
      if (before) parts.back().push_back(between(from, here, share.to));
    }
    inside = share.any() && share.to == 1;
    before = here;
  }
  return parts;
}

std::vector<CurvePoint> clamped(const std::vector<CurvePoint>& line, const PlotArea& plot) {
  std::vector<CurvePoint> result;
  for (std::size_t k = 0; k < line.size(); ++k) {
    if (k > 0 && line[k - 1].y != line[k].y) {
      std::vector<double> crossings;
      for (const double edge : {plot.y.end, plot.y.begin})
        crossings.push_back((edge - line[k - 1].y) / (line[k].y - line[k - 1].y));
      std::ranges::sort(crossings);
      for (const double share : crossings)
        if (share > 0 && share < 1)
          result.push_back(plot.clamped(between(line[k - 1], line[k], share)));
    }
    result.push_back(plot.clamped(line[k]));
  }
  return result;
}

BandEdges edges_of(const Band& band, const PlotArea& plot) {
  BandEdges edges;
  for (std::size_t k = 0; k < band.x.size(); ++k) {
    edges.upper.push_back(plot.place(band.x[k], band.high[k]));
    edges.lower.push_back(plot.place(band.x[k], band.low[k]));
  }
  return edges;
}

std::vector<std::vector<CurvePoint>> cuts_of(const Band& band, const PlotArea& plot) {
  constexpr double kSeen = 0.5;  // beyond the edge
  const BandEdges edges = edges_of(band, plot);
  const std::vector<CurvePoint>&upper = edges.upper, &lower = edges.lower;
  std::vector<std::vector<CurvePoint>> cuts;
  // The heights by which its outer end is beyond, and its inner end is not.
  const auto along = [&](double y, const auto& beyond, const auto& inner) {
    bool goes_on = false;
    for (std::size_t k = 1; k < upper.size(); ++k) {
      PositiveShare share;
      share.keep(beyond(k - 1) - kSeen, beyond(k) - kSeen);
      share.keep(inner(k - 1), inner(k));
      if (share.any()) {
        const auto at = [&](double part) {
          return CurvePoint{between(upper[k - 1], upper[k], part).x, y};
        };
        if (!goes_on || share.from > 0) cuts.push_back({at(share.from), at(share.from)});
        cuts.back().back() = at(share.to);
      }
      goes_on = share.any() && share.to == 1;
    }
  };
  const double top = plot.y.end, bottom = plot.y.begin;
  along(
      top + 1, [&](std::size_t k) { return top - upper[k].y; },
      [&](std::size_t k) { return lower[k].y - top; });
  along(
      bottom - 1, [&](std::size_t k) { return lower[k].y - bottom; },
      [&](std::size_t k) { return bottom - upper[k].y; });
  return cuts;
}

}  // namespace acid
