#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/html/scale.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr double kBarsWidth = 300, kBarsHeight = 110, kBarsLeft = 44, kBarsTop = 6,
                 kBarsBottom = 26;

std::string value_label(double value, bool as_share) {
  return as_share ? format_percent(value, 3) : format_count(value);
}

std::string summary_of(std::vector<double> values, bool as_share) {
  std::sort(values.begin(), values.end());
  return fmt::format("{} workers: smallest {}, median {}, largest {}.", values.size(),
                     value_label(values.front(), as_share),
                     value_label(values[values.size() / 2], as_share),
                     value_label(values.back(), as_share));
}

}  // namespace

PageFigure draw_bars(const std::string& id, const std::string& title, int style,
                     const std::vector<double>& values, bool as_share) {
  if (values.empty()) return {};
  PageFigure figure{.css_class = "small", .caption = escaped(title)};
  const std::string summary = summary_of(values, as_share);
  const double largest = *std::max_element(values.begin(), values.end());
  if (values.size() > kMostDrawnWorkers || !std::isfinite(largest)) {
    figure.below = note(summary);
    return figure;
  }
  const Scale y{0, largest > 0 ? largest : 1, kBarsHeight - kBarsBottom, kBarsTop, false};
  Shapes out;
  for (const double value : ticks(y, 3)) {
    out.path("grid", path_of("M{} {}H{}", kBarsLeft, y(value), kBarsWidth));
    out.text(kBarsLeft - 5, y(value) + 3.5, "end", value_label(value, as_share));
  }
  const double step = (kBarsWidth - kBarsLeft) / static_cast<double>(values.size());
  const double width = std::min(0.72 * step, 24.0);
  std::string path;
  figure.csv = "worker,value\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = kBarsLeft + (static_cast<double>(i) + 0.5) * step;
    path += path_of("M{} {}V{}h{}V{}z", x - width / 2, y.begin, y(std::max(0.0, values[i])), width,
                    y.begin);
    figure.csv += fmt::format("{},{}\n", i, values[i]);
    const std::size_t every = (values.size() + 15) / 16;
    if (i % every == 0) out.text(x, y.begin + 12, "middle", std::to_string(i));
  }
  out.path("bar", path, style).ends_line = true;
  out.text((kBarsLeft + kBarsWidth) / 2, kBarsHeight - 2, "middle", "worker", "name");
  figure.drawing = {id, "bars", kBarsWidth, kBarsHeight, title, summary, std::move(out)};
  return figure;
}

}  // namespace acid
