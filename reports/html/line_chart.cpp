#include "reports/html/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "reports/drawing/looks.hpp"
#include "reports/equal_places.hpp"
#include "reports/html/font.hpp"
#include "reports/html/markup.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kChartWidth = 420, kLeastHeight = 236, kChartTop = 10, kChartBottom = 34,
                 kChartLeft = 50;
constexpr double kLabelSpacing = 12, kChartCharacterWidth = 6.7;
constexpr int kChartLongestLabel = 16, kTableRows = 9, kMarkersOnLine = 5;
constexpr double kMostDecades = 10, kTickSize = 10.5, kTickGap = 6;
constexpr int kTicks = 5;

struct Plot {
  Scale x, y;
  double floor = -std::numeric_limits<double>::infinity();  // smallest value drawn
  double left = kChartLeft, right = 0, height = kLeastHeight;

  double bottom() const { return height - kChartBottom; }

  CurvePoint place(const CurvePoint& point) const {
    return {x(point.x), std::clamp(y(point.y), y.end, y.begin)};
  }
};

std::vector<CurvePoint> line_of(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<CurvePoint> points;
  for (std::size_t k = 0; k < x.size(); ++k) points.push_back({x[k], y[k]});
  return points;
}

std::vector<CurvePoint> placed(const std::vector<CurvePoint>& points, const Plot& plot) {
  std::vector<CurvePoint> result;
  result.reserve(points.size());
  for (const CurvePoint& point : points)
    if (point.y > plot.floor) result.push_back(plot.place(point));
  return result;
}

/// The range of all that is drawn; false if there is nothing.
bool fit(const LineChart& chart, Plot& plot) {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  double first_x = lowest, last_x = -lowest;
  const auto widen = [&](const CurvePoint& point) {
    if (point.y <= plot.floor) return;
    first_x = std::min(first_x, point.x);
    last_x = std::max(last_x, point.x);
    lowest = std::min(lowest, point.y);
    highest = std::max(highest, point.y);
  };
  const auto widen_all = [&] {
    for (const ChartSeries& series : chart.series) {
      for (const auto& seed : series.seeds) std::for_each(seed.begin(), seed.end(), widen);
      for (const CurvePoint& point : line_of(series.band.x, series.band.mean)) widen(point);
    }
  };
  if (chart.logarithmic) plot.floor = 0;
  widen_all();
  if (!(highest >= lowest) || (last_x <= 0 && !chart.bands_only)) return false;
  if (chart.logarithmic && highest / lowest > std::pow(10.0, kMostDecades)) {
    plot.floor = highest * std::pow(10.0, -kMostDecades);
    lowest = highest;
    widen_all();
  }
  plot.y = fitted(lowest, highest, chart.logarithmic);
  plot.y.begin = plot.bottom();
  plot.y.end = kChartTop;
  for (const Tick& tick : named_ticks(plot.y, kTicks))
    plot.left = std::max(plot.left, text_width(tick.text, kTickSize) + kTickGap + 1);
  plot.x = {0, last_x, 0, 0, chart.logarithmic_x};
  if (chart.bands_only) plot.x.low = first_x;
  if (!(plot.x.high > plot.x.low)) plot.x = fitted(first_x, last_x, chart.logarithmic_x);
  plot.x.begin = plot.left;
  plot.x.end = plot.right;
  return true;
}

Shapes axes(const LineChart& chart, const Plot& plot) {
  std::string grid;
  Shapes labels;
  const double bottom = plot.bottom();
  for (const auto& [value, text] : named_ticks(plot.y, kTicks)) {
    const double y = plot.y(value);
    grid += path_of("M{} {}H{}", plot.left, y, plot.right);
    labels.text(plot.left - kTickGap, y + 3.5, "end", text);
  }
  for (const auto& [value, text] : named_ticks_along(plot.x, kTicks, chart.x_ticks)) {
    const double x = plot.x(value);
    grid += path_of("M{} {}v4", x, bottom);
    labels.text(x, bottom + 16, "middle", text);
  }
  Shapes out;
  out.path("grid", grid).ends_line = true;
  out.path("axis", path_of("M{} {}H{}", plot.left, bottom, plot.right)).ends_line = true;
  out.add(std::move(labels));
  out.text((plot.left + plot.right) / 2, plot.height - 3, "middle", chart.x_label, "name");
  return out;
}

bool has_band(const LineChart& chart, const ChartSeries& series) {
  return series.seeds.size() > 1 || (chart.bands_only && series.band.low != series.band.high);
}

void add_band(Shapes& out, const ChartSeries& series, const Plot& plot) {
  std::vector<CurvePoint> outline;
  for (const CurvePoint& point : line_of(series.band.x, series.band.high))
    outline.push_back(plot.place({point.x, std::max(point.y, plot.floor)}));
  std::vector<CurvePoint> lower;
  for (const CurvePoint& point : line_of(series.band.x, series.band.low))
    lower.push_back(point.y > plot.floor ? plot.place(point)
                                         : CurvePoint{plot.x(point.x), plot.y.begin});
  outline.insert(outline.end(), lower.rbegin(), lower.rend());
  if (!outline.empty()) out.path("band", path_data(outline) + "z").ends_line = true;
}

/// Marks where a band goes on beyond the upper or lower edge, along that edge.
void add_band_cuts(Shapes& out, const ChartSeries& series, const Plot& plot) {
  const Band& band = series.band;
  std::string path;
  const auto along = [&](double y, const auto& is_beyond) {
    for (std::size_t k = 0; k < band.x.size(); ++k) {
      if (!is_beyond(k)) continue;
      const std::size_t first = k;
      while (k + 1 < band.x.size() && is_beyond(k + 1)) ++k;
      const std::size_t before = first > 0 ? first - 1 : first;
      const std::size_t after = std::min(k + 1, band.x.size() - 1);
      path += path_data(std::array{CurvePoint{plot.x((band.x[before] + band.x[first]) / 2), y},
                                   CurvePoint{plot.x((band.x[k] + band.x[after]) / 2), y}});
    }
  };
  along(plot.y.end + 1, [&](std::size_t k) { return band.high[k] > plot.y.high; });
  along(plot.y.begin - 1, [&](std::size_t k) { return band.low[k] < plot.y.low; });
  if (!path.empty()) out.path("cut", std::move(path)).ends_line = true;
}

/// The end of each series; nothing for those not drawn.
std::vector<std::vector<CurvePoint>> ends(const LineChart& chart, const Plot& plot) {
  std::vector<std::vector<CurvePoint>> result;
  for (const ChartSeries& series : chart.series) {
    std::vector<CurvePoint> line = placed(line_of(series.band.x, series.band.mean), plot);
    if (line.empty() && !series.seeds.empty()) line = placed(series.seeds.front(), plot);
    if (line.empty())
      result.emplace_back();
    else
      result.push_back({line.back()});
  }
  return result;
}

std::vector<std::string> names_of(const std::vector<ChartSeries>& series) {
  std::vector<std::string> labels;
  for (const ChartSeries& each : series) labels.push_back(each.label);
  return shortened_apart(labels, kChartLongestLabel);
}

Shapes direct_labels(const LineChart& chart, const Plot& plot) {
  const auto last = ends(chart, plot);
  const std::vector<std::string> names = names_of(chart.series);
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < last.size(); ++s)
    if (!last[s].empty()) order.push_back(s);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return last[a][0].y < last[b][0].y; });
  // Push down what overlaps, then push the whole stack up if it left the plot.
  std::vector<double> y(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    y[k] = std::max(last[order[k]][0].y, kChartTop + 2);
    if (k > 0) y[k] = std::max(y[k], y[k - 1] + kLabelSpacing);
  }
  double limit = plot.bottom();
  for (std::size_t k = order.size(); k-- > 0; limit -= kLabelSpacing) y[k] = std::min(y[k], limit);
  Shapes out;
  for (std::size_t k = 0; k < order.size(); ++k) {
    const ChartSeries& series = chart.series[order[k]];
    const CurvePoint& end = last[order[k]][0];
    Shapes label;
    // Level within the plot, so that it does not look like a part of the curve.
    label.path("lead",
               path_of("M{} {}H{}L{} {}", end.x + 1, end.y, plot.right + 1, plot.right + 8, y[k]));
    label.text(plot.right + 10, y[k] + 3.5, "start", names[order[k]], "label");
    out.group(std::move(label), series.style).ends_line = true;
  }
  return out;
}

/// The part of a reference inside the plot.
std::vector<CurvePoint> within(const std::vector<CurvePoint>& points, const Plot& plot) {
  std::vector<CurvePoint> result;
  for (const CurvePoint& point : points)
    if (point.x <= plot.x.high && point.y >= plot.y.low && point.y <= plot.y.high)
      result.push_back(plot.place(point));
  return result;
}

/// Markers along a mean, at other places for each series, so that equal curves show both.
void add_mean_markers(Shapes& out, const ChartSeries& series, const std::vector<CurvePoint>& mean) {
  for (int k = 0; k < kMarkersOnLine; ++k) {
    const double share = (k + (series.style % kColours + 0.5) / kColours) / kMarkersOnLine;
    const double x = mean.front().x + share * (mean.back().x - mean.front().x);
    auto nearest = std::ranges::lower_bound(mean, x, {}, &CurvePoint::x);
    if (nearest == mean.end() || (nearest != mean.begin() && x - (nearest - 1)->x < nearest->x - x))
      --nearest;
    const CurvePoint& at = *nearest;
    out.marker(series.style, at.x * 10, at.y * 10, 34).ends_line = true;
  }
}

Shapes lines(const LineChart& chart, const Plot& plot) {
  Shapes faint, bold;
  for (const ChartSeries& series : chart.series) {
    Shapes seeds;
    if (has_band(chart, series)) {
      add_band(seeds, series, plot);
      add_band_cuts(seeds, series, plot);
    }
    for (const auto& seed : series.seeds)
      if (const auto points = placed(seed, plot); !points.empty())
        seeds.path("seed", path_data(points)).ends_line = true;
    DrawnShape& group = faint.group(std::move(seeds), series.style);
    group.opens_line = group.ends_line = true;
    if (const auto mean = placed(line_of(series.band.x, series.band.mean), plot); !mean.empty()) {
      bold.path("mean", path_data(mean), series.style).ends_line = true;
      add_mean_markers(bold, series, mean);
    }
  }
  for (const ChartReference& reference : chart.references)
    if (const auto points = within(reference.points, plot); !points.empty())
      faint.path("reference", path_data(points), reference.style).ends_line = true;
  faint.add(std::move(bold));
  Shapes out;
  DrawnShape& all = out.group(std::move(faint));
  all.place = ShapePlace{}.scaled(.1, 1);
  all.opens_line = all.ends_line = true;
  return out;
}

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

std::string data_table(const LineChart& chart, const Plot& plot) {
  HtmlTable table;
  table.first_number = 0;
  table.head.push_back(chart.x_label);
  bool any_cell = false;
  for (const ChartSeries& series : chart.series) table.head.push_back(series.label);
  for (int row = 0; row < kTableRows; ++row) {
    const double x = plot.x.high * row / (kTableRows - 1);
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

/// What the chart does not say of itself.
std::vector<std::string> notes_of(const LineChart& chart, const Plot& plot) {
  std::string names;
  for (const ChartSeries& series : chart.series) {
    const bool drawn = std::any_of(series.seeds.begin(), series.seeds.end(), [&](const auto& seed) {
      return std::any_of(seed.begin(), seed.end(),
                         [&](const CurvePoint& point) { return point.y > plot.floor; });
    });
    if (!drawn) names += (names.empty() ? "" : ", ") + series.label;
  }
  std::vector<std::string> notes;
  if (!names.empty() && chart.logarithmic)
    notes.push_back(names + ": zero on this scale, not drawn.");
  for (const ChartReference& reference : chart.references)
    notes.push_back(reference.label + ": " + reference.note);
  return notes;
}

/// The same for a page; those of references are last and have their swatches.
std::string notes_below(const LineChart& chart, const std::vector<std::string>& notes) {
  std::string html;
  const std::size_t first = notes.size() - chart.references.size();
  for (std::size_t k = 0; k < notes.size(); ++k)
    html +=
        fmt::format("<p class=\"note\">{}{}</p>\n",
                    k < first ? "" : swatch(chart.references[k - first].style), escaped(notes[k]));
  return html;
}

std::string description(const LineChart& chart, const Plot& plot) {
  std::string text = fmt::format("{} against {}{}.", chart.title, chart.x_label,
                                 chart.logarithmic ? ", logarithmic scale" : "");
  for (const ChartSeries& series : chart.series) {
    if (series.band.mean.empty()) continue;
    text += fmt::format(" {}: from {} to {}.", series.label,
                        format_number(series.band.mean.front(), 3), series.final);
  }
  return text + fmt::format(" {} runs to {}.", chart.x_label, chart.x_ticks(plot.x.high, 3));
}

}  // namespace

PageFigure draw(const LineChart& chart) {
  int longest = 0;
  for (const std::string& name : names_of(chart.series))
    longest = std::max(longest, terminal_columns(name));
  Plot plot;
  plot.right = kChartWidth - 12 - kChartCharacterWidth * longest;
  plot.height =
      std::max(kLeastHeight,
               kChartTop + kChartBottom + kLabelSpacing * static_cast<double>(chart.series.size()));
  PageFigure figure{.caption = escaped(chart.title)};
  if (!fit(chart, plot)) {
    figure.below = note(fmt::format("Nothing to draw: no value here is finite{}.",
                                    chart.logarithmic ? " and positive" : ""));
    return figure;
  }
  figure.drawing = {chart.id,         "line",      kChartWidth,
                    plot.height,      chart.title, description(chart, plot),
                    axes(chart, plot)};
  figure.drawing->shapes.add(lines(chart, plot));
  figure.drawing->shapes.add(direct_labels(chart, plot));
  if (chart.bands_only) return figure;
  for (const ChartReference& reference : chart.references)
    figure.drawing->legend +=
        (figure.drawing->legend.empty() ? "thin and dashed: " : "; ") + reference.label;
  figure.notes = notes_of(chart, plot);
  figure.below = notes_below(chart, figure.notes) + data_table(chart, plot);
  return figure;
}

}  // namespace acid
