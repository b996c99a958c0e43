#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/curves.hpp"

namespace acid {

/// The ends of curves on each axis of kAxes; 0 if nothing moves.
using AxisEnds = std::array<double, kAxes.size()>;

/// One run's curve of one metric, reduced while it is read. Values that are not finite are left
/// out.
struct RunCurve {
  /// Of as many equal cells of [0, end] of an axis.
  struct Cells {
    /// The mean of a cell's values or, if it has none, the straight line between its neighbours at
    /// the cell's middle. NaN outside the curve, and everywhere without a value or an end.
    std::vector<double> means;
    std::vector<double> places;  // half-way from a cell's first value to its last; NaN without any
  };
  std::array<Cells, kAxes.size()> cells;  // by axis
  /// The points that a line through all points shows: all of them if they are few, else the lowest
  /// and the highest of each column of the first axis that has an end, in the order they came, with
  /// the first and the last. Spikes survive. For drawing only.
  std::vector<SeriesPoint> line;
  bool whole = true;  // the line has all points
};

/// Reads these whole-run metrics of a run in one pass, in constant memory; parallel to `metrics`.
/// `points`: the most that a line keeps, approximately.
std::vector<RunCurve> read_run_curves(const Store& store, const std::string& run_id,
                                      const std::vector<std::string>& metrics, const AxisEnds& ends,
                                      int cells, int points);

}  // namespace acid
