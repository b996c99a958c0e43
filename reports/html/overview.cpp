#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/scale.hpp"
#include "reports/html/sections.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kOverviewWidth = 880, kOverviewRow = 15, kOverviewFoot = 4, kOverviewGap = 26,
                 kOverviewCharacter = 6.2, kKeyGap = 14, kOverviewMark = 4.2;
constexpr double kHeadLine = 14, kHeadRest = 36;  // lines of a title, and the room below them
constexpr double kLeastPlot = 150, kBeyondGap = 10, kTickRoom = 44, kMarginRight = 13;
constexpr int kLongestCell = 16;
constexpr double kFarOff = 8;     // median distances from an algorithm's middle: beyond is an arrow
constexpr double kShrinksBy = 2;  // leaving these out must shrink the scale by this factor
constexpr double kLogarithmicFrom = 30;  // times the median: such values take a logarithm

/// One algorithm in one of the two plots.
struct OverviewMark {
  int style = 0;
  std::string label;
  double value = 0;
  std::optional<double> low, high;
  bool survivors = false;  // other seeds have no value
};
using OverviewRow = std::vector<OverviewMark>;

double middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// A scale that leaves out values far from most others, so that a setting that collapses does not
/// hide the differences between the others; logarithmic over decades of one sign. `line`: always
/// in.
Scale robust_scale(const std::vector<OverviewRow>& rows, std::optional<double> line) {
  std::map<int, std::vector<double>> by_style;
  std::vector<double> values, distances, halves{0};
  for (const OverviewRow& row : rows)
    for (const OverviewMark& mark : row) {
      if (!std::isfinite(mark.value)) continue;
      values.push_back(mark.value);
      by_style[mark.style].push_back(mark.value);
      if (mark.low && mark.high) halves.push_back((*mark.high - *mark.low) / 2);
    }
  if (values.empty()) return {};
  // Each algorithm is measured from its own middle, so one unlike the others is not far off.
  std::vector<double> middles;
  for (const auto& [style, of_style] : by_style) {
    middles.push_back(middle_of(of_style));
    for (const double value : of_style) distances.push_back(std::abs(value - middles.back()));
  }
  auto [least, most] = std::ranges::minmax(middles);
  double far = kFarOff * middle_of(distances) + (most - least);
  // If nearly all are equal, the distances of the others define what is far.
  if (std::erase(distances, 0.0) > 0 && far == 0 && !distances.empty())
    far = kFarOff * middle_of(distances);
  const double from = least - far, to = most + far;
  if (line) std::tie(least, most) = std::pair(std::min(least, *line), std::max(most, *line));
  for (const double value : values) {
    if (value < from || value > to) continue;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  const auto [lowest, highest] = std::ranges::minmax(values);
  if (highest - lowest < kShrinksBy * (most - least)) {
    least = std::min(lowest, least);
    most = std::max(highest, most);
  } else if (!line && lowest > 0 && highest > kLogarithmicFrom * middle_of(values)) {
    return fitted(lowest, highest, true);
  }
  // Room for the usual interval, as long as it does not hide the values.
  const double room = std::min(middle_of(halves), 2 * (most - least));
  return fitted(least - room, most + room, false);
}

/// Means, or differences if `of_differences`, of a point's groups.
OverviewRow marks_of(const ReportData& data, const ComparedPoint& point, bool of_differences) {
  const Comparison& comparison = data.comparison;
  OverviewRow row;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    Estimate e;
    bool survivors = false;
    if (!of_differences) {
      e = final_value(data, g, comparison.primary);
      e.ci_low = e.ci_high = std::nullopt;
      survivors = static_cast<std::size_t>(e.n) < group.outcomes();
    } else if (const auto* difference =
                   find_difference(comparison, group.group, comparison.primary)) {
      e = difference->simultaneous;
      survivors = difference->is_of_survivors();
    }
    if (e.n > 0)
      row.push_back({data.styles[g], group.label, e.mean, e.ci_low, e.ci_high, survivors});
  }
  return row;
}

void add_mark(Shapes& out, const OverviewMark& mark, const Scale& x, double y) {
  const auto inside = [&](double value) { return std::clamp(x(value), x.begin, x.end); };
  if (mark.low && mark.high && inside(*mark.high) > inside(*mark.low)) {
    std::string path = path_of("M{} {}H{}", inside(*mark.low), y, inside(*mark.high));
    // An arrow if it goes on.
    if (*mark.low < x.low) path += path_of("M{} {}l-2 2l2 2", x.begin + 2, y - 2);
    if (*mark.high > x.high) path += path_of("M{} {}l2 2l-2 2", x.end - 2, y - 2);
    out.path("whisker", path);
  }
  if (mark.value < x.low || mark.value > x.high) {
    const int side = mark.value < x.low ? -1 : 1;
    const double edge = side < 0 ? x.begin : x.end;
    out.path("mark", path_of("M{} {}l{} 3.5v-7z", edge, y, -6 * side));
  } else {
    out.marker(mark.style, x(mark.value), y, kOverviewMark);
  }
  if (mark.survivors)
    out.text(inside(mark.value) + kOverviewMark, y + 3, "start", kSurvivors, "name");
}

std::string marks_text(const OverviewRow& row, const std::string& metric) {
  std::string text;
  for (const OverviewMark& mark : row)
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", mark.label,
                        with_minus(format_metric_value(metric, mark.value)));
  return text;
}

/// The values beyond one edge of the scale, in words.
std::string beyond(const OverviewRow& row, const Scale& x, int side) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const OverviewMark& mark : row)
    if (side < 0 ? mark.value < x.low : mark.value > x.high) {
      low = std::min(low, mark.value);
      high = std::max(high, mark.value);
    }
  if (low > high) return "";
  const std::string from = with_minus(format_number(low, 2)),
                    to = with_minus(format_number(high, 2));
  return from == to ? from : from + " to " + to;
}

/// Leaves room beside the plot for the words on values beyond its edges.
void make_room(Scale& x, const std::vector<OverviewRow>& rows) {
  int left = 0, right = 0;
  for (const OverviewRow& row : rows) {
    left = std::max(left, terminal_columns(beyond(row, x, -1)));
    right = std::max(right, terminal_columns(beyond(row, x, 1)));
  }
  if (left > 0) x.begin += kOverviewCharacter * left + kBeyondGap;
  if (right > 0) x.end -= kOverviewCharacter * right + kBeyondGap;
}

/// Each algorithm's marks are on a level of their own within the row.
void add_plot_row(Shapes& out, const OverviewRow& row, const Scale& x) {
  for (const int side : {-1, 1})
    if (const std::string words = beyond(row, x, side); !words.empty())
      out.text(side < 0 ? x.begin - kBeyondGap : x.end + kBeyondGap, kOverviewRow - 4,
               side < 0 ? "end" : "start", words, "name");
  for (std::size_t k = 0; k < row.size(); ++k) {
    const double step = std::min(2.6, (kOverviewRow - 4) / static_cast<double>(row.size()));
    const double y = kOverviewRow / 2 +
                     step * (static_cast<double>(k) - static_cast<double>(row.size() - 1) / 2);
    Shapes mark;
    add_mark(mark, row[k], x, y);
    out.group(std::move(mark), row[k].style);
  }
}

/// A plot's place, its title in lines that fit it, and its scale within.
struct OverviewPlot {
  double left = 0, width = 0;
  Scale x;
  std::vector<std::string> title;
  std::optional<double> line;
};

std::vector<std::string> title_lines(const std::string& title, double width) {
  const std::string text = wrapped(title, static_cast<int>(width / kOverviewCharacter));
  const std::vector<std::string_view> lines = split_at(text, '\n');
  return {lines.begin(), lines.end()};
}

void add_axis_above(Shapes& out, const OverviewPlot& plot, double head, double bottom,
                    std::string_view better) {
  const Scale& x = plot.x;
  std::string grid;
  Shapes labels;
  const int most = std::clamp(static_cast<int>((x.end - x.begin) / kTickRoom), 1, 5);
  double free_from = 0;  // no label is cut, or written over another one
  for (const auto& [value, text] : named_ticks_along(x, most)) {
    grid += path_of("M{} {}V{}", x(value), head - 4, bottom);
    const double half = kOverviewCharacter * static_cast<double>(text.size()) / 2;
    const double middle = std::clamp(x(value), half, plot.left + plot.width + kMarginRight - half);
    if (middle - half < free_from) continue;
    labels.text(middle, head - 8, "middle", with_minus(text));
    free_from = middle + half;
  }
  out.path("grid", grid).ends_line = true;
  out.add(std::move(labels));
  for (std::size_t k = 0; k < plot.title.size(); ++k)
    out.text(plot.left, kHeadLine * static_cast<double>(k + 1), "start", plot.title[k], "heading");
  if (!better.empty()) out.text(plot.left, head - kHeadRest + 14, "start", better, "name");
  if (plot.line)
    out.path("zero", path_of("M{} {}V{}", x(*plot.line), head - 4, bottom)).ends_line = true;
}

struct KeyColumn {
  std::string above, head;
  double left = 0;
  std::vector<std::string> cells = {};
};

/// The columns of the swept keys' values; `right`: where the last one ends.
std::vector<KeyColumn> key_columns(const std::vector<ComparedPoint>& points, double& right) {
  std::vector<KeyColumn> columns;
  right = 0;
  for (std::size_t k = 0; k < points.front().settings.size(); ++k) {
    const std::string key = brief_key(points.front().settings[k].first);
    const std::size_t dot = key.find('.');  // such a head has two lines
    KeyColumn column{"", key, right};
    if (dot != std::string::npos) column = {key.substr(0, dot + 1), key.substr(dot + 1), right};
    column.above = shortened(column.above, kLongestCell);
    column.head = shortened(column.head, kLongestCell);
    int longest = std::max(terminal_columns(column.above), terminal_columns(column.head) + 1);
    for (const ComparedPoint& point : points)
      column.cells.push_back(value_text(point.settings[k].second));
    column.cells = shortened_apart(column.cells, kLongestCell);
    for (const std::string& cell : column.cells)
      longest = std::max(longest, terminal_columns(cell));
    columns.push_back(column);
    right += kOverviewCharacter * longest + kKeyGap;
  }
  return columns;
}

void add_key_heads(Shapes& out, const std::vector<KeyColumn>& columns, double head) {
  for (const KeyColumn& column : columns) {
    if (!column.above.empty()) out.text(column.left, head - 22, "start", column.above, "name");
    out.text(column.left, head - 8, "start", column.head, "heading");
  }
}

/// Every algorithm with its marker, in lines from the top; `bottom`: where they end.
Shapes overview_legend(const ReportData& data, double right, double& bottom) {
  constexpr double kLine = 15, kBetween = 26;
  Shapes out;
  std::set<std::string> told;
  double x = 0;
  bottom = kLine;
  for (std::size_t g = 0; g < data.comparison.groups.size(); ++g) {
    const std::string& label = data.comparison.groups[g].label;
    if (!told.insert(label).second) continue;
    const double width = kOverviewCharacter * terminal_columns(label) + kBetween;
    if (x > 0 && x + width > right) {
      x = 0;
      bottom += kLine;
    }
    out.marker(data.styles[g], x + kOverviewMark, bottom - 7, kOverviewMark);
    out.text(x + 3 * kOverviewMark, bottom - 3.5, "start", label, "figures");
    x += width;
  }
  return out;
}

std::string overview_csv(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  std::vector<std::string> head;
  for (const auto& [key, value] : comparison.points.front().settings) head.push_back(key);
  for (const char* name : {"label", "n", "final", "ci_low", "ci_high", "difference",
                           "simultaneous_ci_low", "simultaneous_ci_high"})
    head.emplace_back(name);
  std::string csv = csv_line(head);
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      std::vector<std::string> row;
      for (const auto& [key, value] : point.settings) row.push_back(exact_text(value));
      row.push_back(comparison.groups[g].label);
      const Estimate e = final_value(data, g, comparison.primary);
      row.push_back(std::to_string(e.n));
      for (std::string& field : csv_fields(e)) row.push_back(std::move(field));
      const auto* difference =
          find_difference(comparison, comparison.groups[g].group, comparison.primary);
      for (std::string& field :
           csv_fields(difference != nullptr ? difference->simultaneous : Estimate{}))
        row.push_back(std::move(field));
      csv += csv_line(row);
    }
  return csv;
}

/// The plots of means and, if there are any, of differences, from `right` on.
std::vector<OverviewPlot> plots_of(const Comparison& comparison, double right,
                                   const std::vector<OverviewRow>& means,
                                   const std::vector<OverviewRow>* differences) {
  const int plots = differences != nullptr ? 2 : 1;
  const double each = std::max(kLeastPlot, (kOverviewWidth - right) / plots - kOverviewGap);
  const auto plot_of = [&](int k, const std::vector<OverviewRow>& rows, const std::string& title,
                           std::optional<double> line) {
    OverviewPlot plot{right + (k + 0.5) * kOverviewGap + k * each, each, robust_scale(rows, line),
                      title_lines(title, each), line};
    plot.x.begin = plot.left;
    plot.x.end = plot.left + each;
    make_room(plot.x, rows);
    return plot;
  };
  const std::string place = place_words(comparison);
  std::vector<OverviewPlot> drawn{
      plot_of(0, means,
              fmt::format("{}, {}", words_of(comparison.primary), place.empty() ? "final" : place),
              std::nullopt)};
  if (differences == nullptr) return drawn;
  int family = 1;  // one for all differences in a metric
  for (const ComparedDifference& difference : comparison.differences)
    if (difference.metric == comparison.primary) family = std::max(family, difference.family);
  drawn.push_back(
      plot_of(1, *differences, "difference to the baseline, " + interval_words(family), 0));
  return drawn;
}

}  // namespace

PageFigure draw_overview(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  std::vector<OverviewRow> means, differences;
  for (const ComparedPoint& point : comparison.points) {
    means.push_back(marks_of(data, point, false));
    differences.push_back(marks_of(data, point, true));
  }
  const auto has_marks = [](const OverviewRow& row) { return !row.empty(); };
  const bool any_difference = std::ranges::any_of(differences, has_marks);
  if (std::ranges::none_of(means, has_marks) || comparison.primary.empty()) return {};
  const bool any_missed = std::ranges::any_of(
      comparison.groups, [&](auto& group) { return censored(group, comparison.primary) > 0; });
  double right = 0;
  const std::vector<KeyColumn> columns = key_columns(comparison.points, right);
  const std::vector<OverviewPlot> drawn =
      plots_of(comparison, right, means, any_difference ? &differences : nullptr);
  const double width = drawn.back().left + drawn.back().width + kMarginRight;
  std::size_t lines = 0;
  for (const OverviewPlot& plot : drawn) lines = std::max(lines, plot.title.size());
  const double head = kHeadLine * static_cast<double>(lines) + kHeadRest;
  const double bottom = head + kOverviewRow * static_cast<double>(comparison.points.size());
  double below = 0;
  Shapes out = overview_legend(data, width, below), rest;
  below += 6;
  const int direction = better_direction(comparison.primary);
  const std::string_view better = direction > 0 ? "better →" : direction < 0 ? "← better" : "";
  add_key_heads(rest, columns, head);
  for (const OverviewPlot& plot : drawn) add_axis_above(rest, plot, head, bottom, better);
  for (std::size_t p = 0; p < comparison.points.size(); ++p) {
    const ComparedPoint& point = comparison.points[p];
    Shapes cells;
    cells.rect("hit", 0, 0, width, kOverviewRow);
    for (std::size_t k = 0; k < columns.size(); ++k)
      cells.text(columns[k].left, kOverviewRow - 4, "start", columns[k].cells[p], "figures");
    add_plot_row(cells, means[p], drawn[0].x);
    if (means[p].empty()) cells.text(drawn[0].left, kOverviewRow - 4, "start", "no mean", "name");
    if (any_difference) add_plot_row(cells, differences[p], drawn[1].x);
    DrawnShape& row = rest.group(std::move(cells));
    row.role = "row";
    row.row = {p, brief_title(point) + ": " + marks_text(means[p], comparison.primary)};
    row.place = shifted(0, head + kOverviewRow * static_cast<double>(p));
    row.ends_line = true;
  }
  DrawnShape& group = out.group(std::move(rest));
  group.role = "below-legend";
  group.place = shifted(0, below);
  group.opens_line = true;
  const std::string title = fmt::format("Every setting: {}", words_of(comparison.primary));
  return {.attributes = " id=\"overview-figure\"",
          .caption = escaped(title),
          .drawing = Drawing{"overview-chart",
                             width > kOverviewWidth ? "line overview wide" : "line overview", width,
                             below + bottom + kOverviewFoot, title,
                             "One row per setting; the table of each is below.", std::move(out)},
          .scrolls = true,
          .below = note(fmt::format(
              "Means over the seeds that finished{}; * where others diverged or have no value. An "
              "arrow is a value beyond the edge of the scale; a row’s numbers show when the mouse "
              "rests on it, its details when it is clicked.",
              any_missed ? "; none where one of them missed the target" : "")),
          .csv = overview_csv(data)};
}

}  // namespace acid
