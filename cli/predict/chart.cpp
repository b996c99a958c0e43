#include "cli/predict/chart.hpp"

#include <fmt/format.h>

#include <cmath>

#include "engine/base/error.hpp"
#include "reports/html/crossover.hpp"
#include "reports/text_table.hpp"

namespace acid {

PageFigure crossover_figure(const PredictedRecipe& answer) {
  if (!answer.axis) throw UsageError("a chart needs --over: who is fastest where");
  if (answer.races.size() != 1)
    throw UsageError(fmt::format(
        "a chart is of one setting, and this recipe has {} beside {}: choose one with --set",
        answer.races.size(), answer.axis->key));
  const Race& race = answer.races.front().second;
  CrossoverChart chart{.title = "Seconds per iteration",
                       .key = answer.axis->key,
                       .logarithmic_x = race.logarithmic,
                       .lines = {}};
  std::string csv = csv_line({"algorithm", answer.axis->key, "mean", "low", "high"});
  for (std::size_t name = 0; name < race.names.size(); ++name) {
    CrossoverChart::Line& line = chart.lines.emplace_back();
    line.label = race.names[name];
    line.style = static_cast<int>(name);
    for (const Race::Point& point : race.points) {
      if (!point.times[name]) continue;
      const Range& time = *point.times[name];
      line.band.add(point.value, time.mean, time.low, time.high);
      csv += csv_line({line.label, fmt::format("{}", point.value), fmt::format("{}", time.mean),
                       fmt::format("{}", time.low), fmt::format("{}", time.high)});
    }
  }
  PageFigure figure = draw(chart);
  figure.csv = std::move(csv);
  return figure;
}

}  // namespace acid
