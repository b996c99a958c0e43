#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "reports/equal_places.hpp"
#include "reports/html/line_chart.hpp"
#include "reports/html/markup.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr int kTableRows = 9;

std::string cell_text(const Band& band, std::size_t k, bool geometric) {
  const std::string mean = format_number(band.mean[k]);
  if (band.low[k] == band.high[k]) return mean;
  if (geometric)
    return fmt::format("{} [{}, {}]", mean, format_number(band.low[k], 3),
                       format_number(band.high[k], 3));
  return format_plus_minus(band.mean[k], band.high[k] - band.mean[k]);
}

/// The curve at x, on the line between its points; nothing beyond its end.
std::optional<double> height_at(const std::vector<CurvePoint>& curve, double x) {
  const double slack = kNearEnd * std::abs(x);
  if (curve.empty() || x < curve.front().x - slack || x > curve.back().x + slack)
    return std::nullopt;
  const auto next = std::ranges::lower_bound(curve, x, {}, &CurvePoint::x);
  if (next == curve.end()) return curve.back().y;
  if (next == curve.begin() || next->x == x) return next->y;
  const CurvePoint& before = *(next - 1);
  return before.y + (next->y - before.y) * (x - before.x) / (next->x - before.x);
}

/// The mean over all seeds at x, as a band of one cell; empty if a seed has no value.
Band band_at(const ChartSeries& series, double x, bool geometric) {
  std::vector<std::vector<double>> values;
  for (const auto& seed : series.seeds) {
    const auto height = height_at(seed, x);
    if (!height) return {};
    values.push_back({*height});
  }
  return band_over_seeds(values, {x}, geometric);
}

/// For a series whose lines leave out points: the mean over the cell that holds x.
std::string cell_at(const Band& band, double x, bool geometric) {
  if (band.x.empty()) return "";
  const auto next = std::ranges::lower_bound(band.x, x);
  auto k = static_cast<std::size_t>(next - band.x.begin());
  if (k > 0 && (k == band.x.size() || x - band.x[k - 1] < band.x[k] - x)) --k;
  const double cell =
      band.x.size() > 1 ? (band.x.back() - band.x.front()) / static_cast<double>(band.x.size() - 1)
                        : 2 * band.x[0];
  const bool is_within = x >= band.x.front() - cell && x <= band.x.back() + cell;
  return is_within ? "≈ " + cell_text(band, k, geometric) : "";
}

}  // namespace

std::string line_chart_table(const LineChart& chart, double last_x) {
  HtmlTable table;
  table.first_number = 0;
  table.head.push_back(chart.x_label);
  bool any_cell = false;
  for (const ChartSeries& series : chart.series) table.head.push_back(series.label);
  for (int row = 0; row < kTableRows; ++row) {
    const double x = last_x * row / (kTableRows - 1);
    std::vector<Markup> cells{number_text(chart.x_ticks(x, 3))};
    const bool at_end = row == 0 || row == kTableRows - 1;
    for (const ChartSeries& series : chart.series) {
      const Band there = band_at(series, x, chart.logarithmic);
      std::string words = there.x.empty() ? "" : cell_text(there, 0, chart.logarithmic);
      if (!series.whole && !at_end) words = cell_at(series.band, x, chart.logarithmic);
      any_cell = any_cell || words.starts_with("≈");
      cells.push_back(words.empty() ? Markup{"–"} : number_text(words));
    }
    table.rows.push_back(std::move(cells));
  }
  table.caption =
      "Means over seeds of the values recorded there or, between samples, on the line that joins "
      "them; – where a seed has none";
  table.caption +=
      any_cell ? "; ≈ means of what was recorded around there, too much to keep." : ".";
  return details("Data", table.html());
}

}  // namespace acid
