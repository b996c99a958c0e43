#include <algorithm>

#include "reports/html/report_data.hpp"

namespace acid {
namespace {

constexpr double kFloatBytes = 16.0 / 3;  // four bytes in base64
constexpr double kPathPointBytes = 5.5;   // of a point in SVG

struct ByteBudget {
  double data_bands, data_seeds, drawn_bands, drawn_seeds;
};
constexpr ByteBudget kScripted{1.4e6, 1.2e6, 4.5e5, 3.5e5};
constexpr ByteBudget kStatic{0, 0, 1.2e6, 1.8e6};

/// Coarser lines show nothing.
constexpr double kMostSeedsOver = 2;

int share(double bytes, double bytes_each, std::size_t lines, int least, int most) {
  const double count = bytes / bytes_each / static_cast<double>(std::max<std::size_t>(1, lines));
  return static_cast<int>(std::clamp(count, double(least), double(most)));
}

}  // namespace

CurveDetail curve_detail(std::size_t runs, std::size_t groups, std::size_t metrics,
                         std::size_t axes, bool scripted) {
  const ByteBudget& bytes = scripted ? kScripted : kStatic;
  const std::size_t seeds = runs * metrics, bands = groups * metrics;
  const auto on_axes = static_cast<double>(axes);
  CurveDetail detail;
  // A band's outline and its mean have three points in a cell.
  detail.drawn_cells = share(bytes.drawn_bands, 3 * kPathPointBytes * on_axes, bands, 24, 200);
  detail.drawn_points = share(bytes.drawn_seeds, kPathPointBytes * on_axes, seeds, 24, 360);
  detail.cells = detail.drawn_cells;
  detail.seed_points = detail.drawn_points;
  if (!scripted) return detail;
  // x, mean and both ends of the interval; the value once for all axes.
  detail.cells = share(bytes.data_bands, 4 * kFloatBytes * on_axes, bands, 24, 400);
  detail.seed_points = share(bytes.data_seeds, kFloatBytes * (1 + on_axes), seeds, 40, 1200);
  detail.seeds_shown = static_cast<double>(seeds) * 40 * kFloatBytes * (1 + on_axes) <=
                       kMostSeedsOver * bytes.data_seeds;
  return detail;
}

}  // namespace acid
