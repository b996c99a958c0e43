#include "reports/html/forest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/html/markup.hpp"
#include "reports/html/scale.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kForestWidth = 420, kForestRowHeight = 18, kForestTop = 6, kForestAxis = 36,
                 kForestGap = 12;
constexpr double kForestCharacterWidth = 7, kForestDigitWidth = 5.9, kMark = 4.4;
constexpr int kForestLongestLabel = 18;
constexpr double kReach = 3;  // of an interval, in units of the largest effect and typical interval

bool drawable(const ForestRow& row, bool logarithmic) {
  return !row.heading && std::isfinite(row.value) && (!logarithmic || row.value > 0);
}

bool has_interval(const ForestRow& row, bool logarithmic) {
  return row.low && row.high && std::isfinite(*row.low) && std::isfinite(*row.high) &&
         (!logarithmic || *row.low > 0);
}

/// Linear in the axis' values: logarithms of ratios.
double on_axis(double value, bool logarithmic) { return logarithmic ? std::log(value) : value; }
double off_axis(double place, bool logarithmic) { return logarithmic ? std::exp(place) : place; }

/// The distance from the centre up to which intervals are drawn.
double furthest_shown(const Forest& forest, double centre) {
  double largest = 0;
  std::vector<double> halves;
  for (const ForestRow& row : forest.rows) {
    if (!drawable(row, forest.logarithmic)) continue;
    largest = std::max(largest, std::abs(on_axis(row.value, forest.logarithmic) - centre));
    if (has_interval(row, forest.logarithmic))
      halves.push_back(
          (on_axis(*row.high, forest.logarithmic) - on_axis(*row.low, forest.logarithmic)) / 2);
  }
  if (halves.empty()) return largest;
  std::sort(halves.begin(), halves.end());
  return largest + kReach * std::max(largest, halves[(halves.size() - 1) / 2]);
}

/// The range of values, intervals and the line.
Scale fit_axis(const Forest& forest) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  const auto widen = [&](double place) {
    low = std::min(low, place);
    high = std::max(high, place);
  };
  if (forest.line) widen(on_axis(*forest.line, forest.logarithmic));
  for (const ForestRow& row : forest.rows)
    if (drawable(row, forest.logarithmic)) widen(on_axis(row.value, forest.logarithmic));
  const double centre = forest.line ? on_axis(*forest.line, forest.logarithmic) : (low + high) / 2;
  const double reach = furthest_shown(forest, centre);
  for (const ForestRow& row : forest.rows) {
    if (!drawable(row, forest.logarithmic) || !has_interval(row, forest.logarithmic)) continue;
    widen(std::max(on_axis(*row.low, forest.logarithmic), centre - reach));
    widen(std::min(on_axis(*row.high, forest.logarithmic), centre + reach));
  }
  return fitted(off_axis(low, forest.logarithmic), off_axis(high, forest.logarithmic),
                forest.logarithmic);
}

std::string arrow(double x, double y, int direction) {
  return path_of("M{} {}l{} 3.5v-7z", x, y, -4 * direction);
}

void add_interval(Shapes& out, const ForestRow& row, const Scale& x, double y, bool logarithmic) {
  if (has_interval(row, logarithmic)) {
    const bool cut_low = *row.low<x.low, cut_high = *row.high> x.high;
    const double left = cut_low ? x.begin : x(*row.low), right = cut_high ? x.end : x(*row.high);
    std::string line = path_of("M{} {}H{}", left, y, right);
    if (!cut_low) line += path_of("M{} {}v6", left, y - 3);
    if (!cut_high) line += path_of("M{} {}v6", right, y - 3);
    out.path("whisker", line);
    std::string arrows;
    if (cut_low) arrows += arrow(left, y, -1);
    if (cut_high) arrows += arrow(right, y, 1);
    if (!arrows.empty()) out.path("mark", arrows);
  }
  out.marker(row.style, x(row.value), y, kMark);
}

Shapes forest_axis(const Forest& forest, const Scale& x, double bottom) {
  Shapes effect;
  if (forest.line) {
    std::string line;  // not through headings
    for (std::size_t k = 0; k < forest.rows.size(); ++k)
      if (!forest.rows[k].heading)
        line += path_of("M{} {}v{}", x(*forest.line),
                        kForestTop + kForestRowHeight * static_cast<double>(k), kForestRowHeight);
    effect.path("zero", line + "V" + svg_number(bottom)).ends_line = true;
  }
  Shapes out = axis_below(x, bottom, 4, forest.x_label, 31, std::move(effect));
  const bool right = forest.better.starts_with('b');
  if (forest.better.empty()) return out;
  // Beside the numbers of the axis, or below them.
  const std::vector<Tick> ticks = named_ticks_along(x, 4);
  const double width = kForestCharacterWidth * terminal_columns(forest.better);
  const bool free =
      ticks.empty() ||
      (right ? x(ticks.back().value) + tick_width(ticks.back()) / 2 < kForestWidth - width
             : x(ticks.front().value) - tick_width(ticks.front()) / 2 > width);
  out.text(right ? kForestWidth : 0, bottom + (free ? 15 : 31), right ? "end" : "start",
           forest.better, "name");
  return out;
}

std::string forest_description(const Forest& forest) {
  std::string text;
  for (const ForestRow& row : forest.rows)
    text += row.heading ? fmt::format(" {}:", row.label)
                        : fmt::format(" {}{} {}.", row.label, row.mark, row.text);
  return forest.x_label + "." + text;
}

std::string forest_csv(const Forest& forest) {
  const auto field = [](const std::optional<double>& value) {
    return csv_number(value && std::isfinite(*value) ? value : std::nullopt);
  };
  const auto& [value, low, high] = forest.columns;
  std::string csv = csv_line({"setting", "label", value, low, high}), setting;
  for (const ForestRow& row : forest.rows) {
    if (row.heading)
      setting = row.label;
    else
      csv += csv_line({setting, row.label + std::string(row.mark), field(row.value), field(row.low),
                       field(row.high)});
  }
  return csv;
}

/// What stands before each row.
std::vector<std::string> row_names(const Forest& forest) {
  std::vector<std::string> labels, headings;
  for (const ForestRow& row : forest.rows) (row.heading ? headings : labels).push_back(row.label);
  labels = shortened_apart(labels, kForestLongestLabel);
  headings = shortened_apart(headings, kForestLongestHeading);
  std::vector<std::string> names;
  auto label = labels.begin(), heading = headings.begin();
  for (const ForestRow& row : forest.rows)
    names.push_back(row.heading ? *heading++ : *label++ + std::string(row.mark));
  return names;
}

}  // namespace

PageFigure draw_forest(const Forest& forest) {
  int label = 0, numbers = 0;
  bool any = false;
  const std::vector<std::string> names = row_names(forest);
  for (std::size_t k = 0; k < forest.rows.size(); ++k) {
    const ForestRow& row = forest.rows[k];
    any = any || drawable(row, forest.logarithmic);
    if (row.heading) continue;
    label = std::max(label, terminal_columns(names[k]));
    numbers = std::max(numbers, terminal_columns(row.text));
  }
  if (!any) return {};
  Scale x = fit_axis(forest);
  x.begin = kForestCharacterWidth * label + kForestGap;
  x.end = kForestWidth - kForestDigitWidth * numbers - kForestGap;
  const double bottom = kForestTop + kForestRowHeight * static_cast<double>(forest.rows.size()) + 2;
  Shapes out = forest_axis(forest, x, bottom);
  for (std::size_t k = 0; k < forest.rows.size(); ++k) {
    const ForestRow& row = forest.rows[k];
    const double y = kForestTop + kForestRowHeight * (static_cast<double>(k) + 0.5);
    if (row.heading) {
      out.text(0, y + 4, "start", names[k], "heading");
      continue;
    }
    Shapes parts;
    parts.text(0, y + 3.5, "start", names[k], "label");
    if (drawable(row, forest.logarithmic)) add_interval(parts, row, x, y, forest.logarithmic);
    out.group(std::move(parts), row.style).ends_line = true;
    out.text(kForestWidth, y + 3.5, "end", row.text, "figures");
  }
  PageFigure figure{.caption = escaped(forest.title), .csv = forest_csv(forest)};
  if (!forest.legend.empty())
    figure.caption += fmt::format("<br><small>{}</small>", escaped(forest.legend));
  figure.drawing = {forest.id,      "line forest",
                    kForestWidth,   bottom + kForestAxis,
                    forest.title,   forest_description(forest),
                    std::move(out), forest.legend};
  return figure;
}

}  // namespace acid
