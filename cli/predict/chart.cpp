#include "cli/predict/chart.hpp"

#include <fmt/format.h>

#include <cmath>

#include "engine/base/error.hpp"
#include "reports/html/line_chart.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"

namespace acid {

PageFigure crossover_figure(const PredictedRecipe& answer) {
  if (!answer.axis) throw UsageError("a chart needs --over: who is fastest where");
  if (answer.races.size() != 1)
    throw UsageError(fmt::format(
        "a chart is of one setting, and this recipe has {} beside {}: choose one with --set",
        answer.races.size(), answer.axis->key));
  const Race& race = answer.races.front().second;
  const bool in_bytes = answer.axis->key.find("bytes") != std::string::npos;
  LineChart chart{.id = "crossover",
                  .title = "Seconds per iteration",
                  .x_label = std::string(brief_key(answer.axis->key)),
                  .x_ticks = in_bytes ? LineChart::Ticks::bytes : LineChart::Ticks::number,
                  .logarithmic = true,
                  .bands_only = true,
                  .logarithmic_x = race.logarithmic,
                  .series = {}};
  std::string csv = csv_line({"algorithm", answer.axis->key, "mean", "low", "high"});
  for (std::size_t name = 0; name < race.names.size(); ++name) {
    ChartSeries series{.label = race.names[name], .style = static_cast<int>(name)};
    for (const Race::Point& point : race.points) {
      if (!point.times[name]) continue;
      const Range& time = *point.times[name];
      series.band.x.push_back(point.value);
      series.band.mean.push_back(time.mean);
      series.band.low.push_back(std::max(time.low, 0.0));
      series.band.high.push_back(time.high);
      csv += csv_line({series.label, fmt::format("{}", point.value), fmt::format("{}", time.mean),
                       fmt::format("{}", time.low), fmt::format("{}", time.high)});
    }
    if (series.band.x.empty()) continue;
    series.final = fmt::format("{:.3g}", series.band.mean.back());
    chart.series.push_back(std::move(series));
  }
  PageFigure figure = draw(chart);
  figure.csv = std::move(csv);
  return figure;
}

}  // namespace acid
