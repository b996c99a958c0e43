#pragma once

#include <vector>

#include "reports/curves.hpp"
#include "reports/html/scale.hpp"

namespace acid {

/// Where values are in a plot. Places are in its units, downwards. As in reports/page/src/lines.ts.
struct PlotArea {
  Scale x, y;

  /// Whether a value has a place on the axis, inside the plot or beyond its edges.
  bool places(double value) const { return !y.logarithmic || value > 0; }
  /// The place, or where it is beyond an edge, the edge at the same x.
  CurvePoint clamped(const CurvePoint& place) const;
  /// The place of a value, at most four heights beyond an edge. A value without a place on the axis
  /// is below the lower edge.
  CurvePoint place(double at, double value) const;
};

/// The parts of a line inside the plot, each cut where the line crosses an edge. Points without a
/// place on the axis are left out.
std::vector<std::vector<CurvePoint>> placed(const std::vector<CurvePoint>& points,
                                            const PlotArea& plot);

/// The places of a band's ends, also beyond the edges.
struct BandEdges {
  std::vector<CurvePoint> upper, lower;
};
BandEdges edges_of(const Band& band, const PlotArea& plot);

/// The line, led along an edge where it leaves the plot.
std::vector<CurvePoint> clamped(const std::vector<CurvePoint>& line, const PlotArea& plot);

/// Lines along the upper and the lower edge where a part of the band is inside and goes on beyond.
std::vector<std::vector<CurvePoint>> cuts_of(const Band& band, const PlotArea& plot);

}  // namespace acid
