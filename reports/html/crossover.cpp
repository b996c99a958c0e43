#include "reports/html/crossover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/error.hpp"
#include "reports/predicted.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kWideRange = 8;  // from here on values are drawn in equal ratios

/// An algorithm at the values of the key.
struct TimesOfLabel {
  Band predicted, measured;
  std::map<std::uint64_t, std::vector<CurvePoint>> by_seed;
};

void add_group(const ReportData& data, std::size_t g, double x, TimesOfLabel& times) {
  std::vector<double> all;
  for (const RunSummary& run : data.comparison.groups[g].runs)
    if (const double seconds = iteration_seconds(run); std::isfinite(seconds)) {
      all.push_back(seconds);
      times.by_seed[run.seed].push_back({x, seconds});
    }
  const Estimate measured = estimate(all);
  if (measured.n > 0)
    times.measured.add(x, measured.mean, measured.ci_low.value_or(measured.mean),
                       measured.ci_high.value_or(measured.mean));
  for (const ScoredGroup& group : data.predictions.groups) {
    if (group.group != g) continue;
    const auto found = std::ranges::find(
        group.values, "iteration_seconds",
        [](const ScoredValue& one) { return std::string_view(one.predicted.quantity); });
    if (found != group.values.end())
      times.predicted.add(x, found->predicted.mean, found->predicted.low, found->predicted.high);
  }
}

void add_rows(std::string& csv, const std::string& label, const char* what, const Band& band) {
  for (std::size_t k = 0; k < band.x.size(); ++k)
    csv += csv_line({label, what, fmt::format("{}", band.x[k]), fmt::format("{}", band.mean[k]),
                     fmt::format("{}", band.low[k]), fmt::format("{}", band.high[k])});
}

}  // namespace

PageFigure draw(CrossoverChart chart) {
  std::erase_if(chart.series, [](const ChartSeries& series) {
    return series.band.x.empty() && series.seeds.empty();
  });
  for (ChartSeries& series : chart.series)
    if (!series.band.mean.empty()) series.final = fmt::format("{:.3g}", series.band.mean.back());
  const bool in_bytes = chart.key.find("bytes") != std::string::npos;
  return draw(LineChart{.id = "crossover",
                        .title = chart.title,
                        .x_label = brief_key(chart.key),
                        .x_ticks = in_bytes ? TickFormat{&format_bytes} : &format_number,
                        .logarithmic = true,
                        .bands_only = true,
                        .logarithmic_x = chart.logarithmic_x,
                        .series = std::move(chart.series)});
}

std::string crossover_key(const Comparison& comparison) {
  std::string key;
  if (comparison.points.size() < 2) return key;
  for (const auto& setting : comparison.points.front().settings) {
    const bool varies = std::ranges::any_of(comparison.points, [&](const ComparedPoint& point) {
      return std::ranges::find(point.settings, setting) == point.settings.end();
    });
    if (!varies) continue;
    if (!key.empty() || !setting.second.is_number()) return "";
    key = setting.first;
  }
  return key;
}

PageFigure crossover_figure(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  const std::string key = crossover_key(comparison);
  if (key.empty())
    throw UsageError(
        "a crossover is over one numeric key that a sweep varies, with at least two values: choose "
        "among other settings with --where KEY=VALUE");
  std::vector<std::pair<double, std::size_t>> places;  // value, point
  for (std::size_t p = 0; p < comparison.points.size(); ++p)
    for (const auto& [name, value] : comparison.points[p].settings)
      if (name == key && value.is_number()) places.emplace_back(value.get<double>(), p);
  std::ranges::sort(places);
  std::vector<std::string> labels;
  std::map<std::string, TimesOfLabel> times;
  std::map<std::string, int> styles;
  for (const auto& [x, p] : places)
    for (const std::size_t g : comparison.points[p].groups) {
      const std::string& label = comparison.groups[g].label;
      if (!times.contains(label)) labels.push_back(label);
      styles[label] = data.styles[g];
      add_group(data, g, x, times[label]);
    }
  const bool predicted = !data.predictions.groups.empty();
  CrossoverChart chart{.title = predicted ? "Seconds per iteration: predicted, thin: measured"
                                          : "Seconds per iteration",
                       .key = key,
                       .logarithmic_x = places.front().first > 0 &&
                                        places.back().first >= kWideRange * places.front().first,
                       .series = {}};
  std::string csv = csv_line({"algorithm", "what", key, "mean", "low", "high"});
  for (const std::string& label : labels) {
    const TimesOfLabel& own = times.at(label);
    ChartSeries& series = chart.series.emplace_back();
    series.label = label;
    series.style = styles.at(label);
    series.band = predicted ? own.predicted : own.measured;
    if (predicted)
      for (const auto& [seed, points] : own.by_seed) series.seeds.push_back(points);
    add_rows(csv, label, "predicted", own.predicted);
    add_rows(csv, label, "measured", own.measured);
  }
  PageFigure figure = draw(std::move(chart));
  figure.csv = std::move(csv);
  return figure;
}

}  // namespace acid
