#include "reports/html/line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reports/drawing/looks.hpp"
#include "reports/html/font.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/plot_area.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kChartWidth = 420, kLeastHeight = 236, kChartTop = 10, kChartBottom = 34,
                 kChartLeft = 50;
constexpr double kLabelSpacing = 12, kChartCharacterWidth = 6.7;
constexpr int kChartLongestLabel = 16, kMarkersOnLine = 5;
constexpr double kMostDecades = 10, kTickSize = 10.5, kTickGap = 6;
constexpr int kTicks = 5;

struct Plot : PlotArea {
  double left = kChartLeft, right = 0, height = kLeastHeight;

  double bottom() const { return height - kChartBottom; }
};

std::vector<CurvePoint> line_of(const std::vector<double>& x, const std::vector<double>& y) {
  std::vector<CurvePoint> points;
  for (std::size_t k = 0; k < x.size(); ++k) points.push_back({x[k], y[k]});
  return points;
}

std::string path_of_parts(const std::vector<std::vector<CurvePoint>>& parts) {
  std::string data;
  for (const auto& part : parts) data += path_data(part);
  return data;
}

/// The range of all that is drawn; false if there is nothing.
bool fit(const LineChart& chart, Plot& plot) {
  double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
  double first_x = lowest, last_x = -lowest, floor = chart.logarithmic ? 0 : -lowest;
  const auto widen = [&](const CurvePoint& point) {
    if (point.y <= floor) return;
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
  widen_all();
  if (!(highest >= lowest) || (last_x <= 0 && !chart.bands_only)) return false;
  if (chart.logarithmic && highest / lowest > std::pow(10.0, kMostDecades)) {
    floor = highest * std::pow(10.0, -kMostDecades);
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
  const auto [upper, lower] = edges_of(series.band, plot);
  const auto inside = [&](const CurvePoint& place) { return place.y < plot.y.begin; };
  if (std::ranges::none_of(upper, inside)) return;
  std::vector<CurvePoint> outline = clamped(upper, plot);
  const std::vector<CurvePoint> under = clamped(lower, plot);
  outline.insert(outline.end(), under.rbegin(), under.rend());
  out.path("band", path_data(outline) + "z").ends_line = true;
}

void add_band_cuts(Shapes& out, const ChartSeries& series, const Plot& plot) {
  if (const auto cuts = cuts_of(series.band, plot); !cuts.empty())
    out.path("cut", path_of_parts(cuts)).ends_line = true;
}

/// The end of each series, or where it leaves the plot; nothing for those not drawn.
std::vector<std::vector<CurvePoint>> ends(const LineChart& chart, const Plot& plot) {
  std::vector<std::vector<CurvePoint>> result;
  for (const ChartSeries& series : chart.series) {
    auto parts = placed(line_of(series.band.x, series.band.mean), plot);
    if (series.band.x.empty() && !series.seeds.empty()) parts = placed(series.seeds.front(), plot);
    result.emplace_back();
    if (!parts.empty()) result.back().push_back(parts.back().back());
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
      result.push_back(plot.clamped({plot.x(point.x), plot.y(point.y)}));
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
      if (const auto parts = placed(seed, plot); !parts.empty())
        seeds.path("seed", path_of_parts(parts)).ends_line = true;
    DrawnShape& group = faint.group(std::move(seeds), series.style);
    group.opens_line = group.ends_line = true;
    const auto parts = placed(line_of(series.band.x, series.band.mean), plot);
    if (parts.empty()) continue;
    bold.path("mean", path_of_parts(parts), series.style).ends_line = true;
    std::vector<CurvePoint> mean;
    for (const auto& part : parts) mean.insert(mean.end(), part.begin(), part.end());
    add_mean_markers(bold, series, mean);
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

/// The series of which it holds, as a beginning of a note.
template <class Holds>
std::string names_where(const LineChart& chart, const Holds& holds) {
  std::string names;
  for (const ChartSeries& series : chart.series)
    if (holds(series)) names += (names.empty() ? "" : ", ") + series.label;
  return names;
}

/// What is cut off below, in words; empty if nothing is.
std::string words_below(const LineChart& chart, const Plot& plot) {
  const std::string names = names_where(chart, [&](const ChartSeries& series) {
    return std::ranges::any_of(
        series.band.mean, [&](double value) { return plot.places(value) && value < plot.y.low; });
  });
  return names.empty() ? "" : names + ": values below this axis are not drawn.";
}

/// What the chart does not say of itself.
std::vector<std::string> notes_of(const LineChart& chart, const Plot& plot) {
  const std::string zeros = names_where(chart, [&](const ChartSeries& series) {
    return std::ranges::none_of(series.seeds, [&](const auto& seed) {
      return std::ranges::any_of(seed,
                                 [&](const CurvePoint& point) { return plot.places(point.y); });
    });
  });
  std::vector<std::string> notes;
  if (!zeros.empty() && chart.logarithmic)
    notes.push_back(zeros + ": zero on this scale, not drawn.");
  if (const std::string below = words_below(chart, plot); !below.empty()) notes.push_back(below);
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
  if (const std::string below = words_below(chart, plot); !below.empty())
    figure.drawing->legend += (figure.drawing->legend.empty() ? "" : "; ") + below;
  figure.notes = notes_of(chart, plot);
  figure.below = notes_below(chart, figure.notes) + line_chart_table(chart, plot.x.high);
  return figure;
}

}  // namespace acid
