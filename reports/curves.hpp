#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// What a curve is drawn against.
enum class Axis { gradients, normalised_time, seconds, bytes };
inline constexpr std::array kAxes{Axis::gradients, Axis::normalised_time, Axis::seconds,
                                  Axis::bytes};
double coordinate(const Position& position, Axis axis);

struct CurvePoint {
  double x = 0, y = 0;
};

/// The samples of a series against one axis; those whose value is not finite are left out.
std::vector<CurvePoint> points_on(std::span<const SeriesPoint> series, Axis axis);

/// Mean of the samples taken between the given shares of a gradient budget, ends included; absent
/// without a sample there. A last value depends on where the last exchange fell, this does not.
std::optional<double> window_mean(std::span<const SeriesPoint> series, std::int64_t budget,
                                  double from_share, double to_share);

/// A curve on `cells` equal cells of [0, end]: the mean of a cell's points, or where it holds none,
/// the straight line between its neighbours at the cell's middle. NaN outside the curve. Points by
/// ascending x.
std::vector<double> on_grid(std::span<const CurvePoint> points, double end, int cells);

/// Per pixel column of [0, end] the lowest and the highest point, in the order they came: what a
/// line through all points would show. Spikes survive. For drawing only.
std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, double end, int columns);

/// Mean over seeds and its 95 % t interval, cell by cell; cells that a seed does not reach are left
/// out. With one seed low = high = mean. Geometric (mean and interval of logarithms) if asked.
struct Band {
  std::vector<double> x, mean, low, high;
};
Band band_over_seeds(const std::vector<std::vector<double>>& seeds, double end, bool geometric);

}  // namespace acid
