#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "reports/read_at.hpp"

namespace acid {

/// The axes of curves.
inline constexpr std::array kAxes{PositionAxis::gradients, PositionAxis::normalised_time,
                                  PositionAxis::seconds, PositionAxis::bytes};

struct CurvePoint {
  double x = 0, y = 0;
};

/// Mean height over [0, end] of the curve through samples: its area by the trapezoidal rule,
/// divided by `end`. The curve is level before the first sample and after the last one, and its
/// line is cut at `end`.
class MeanHeight {
 public:
  explicit MeanHeight(double end) : end_(end) {}
  void add(double x, double y);  // by ascending x
  /// Absent without a sample or with `end` ≤ 0; not finite if a sample up to there is not.
  std::optional<double> value() const;

 private:
  double end_;
  double area_ = 0, x_ = 0, y_ = 0;  // up to the last sample
  bool any_ = false;
};

/// Which of `cells` equal cells of [0, end] holds x; the first or the last for an x outside.
int cell_of(double x, double end, int cells);

/// Per pixel column of [0, end] the lowest and the highest point, in the order they came: what a
/// line through all points would show. Spikes survive. For drawing only.
std::vector<CurvePoint> thinned(std::span<const CurvePoint> points, double end, int columns);

/// Mean over seeds and its 95 % t interval, cell by cell; cells that a seed does not reach, and
/// those without a place (NaN), are left out. With one seed low = high = mean. Geometric (mean and
/// interval of logarithms) if asked.
struct Band {
  std::vector<double> x, mean, low, high;
  void add(double at, double middle, double least, double most) {
    x.push_back(at);
    mean.push_back(middle);
    low.push_back(least);
    high.push_back(most);
  }
};
Band band_over_seeds(const std::vector<std::vector<double>>& seeds,
                     const std::vector<double>& places, bool geometric);

}  // namespace acid
