// acid predict: how long a recipe's runs take on their simulated machine, by the clock alone.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>
#include <vector>

#include "cli/calibrate.hpp"
#include "cli/figure_file.hpp"
#include "cli/predict/answer.hpp"
#include "cli/predict/formats.hpp"
#include "cli/recipe_options.hpp"
#include "cli/terminal/commands.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/html/crossover.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostDraws = 10'000;

struct PredictOptions {
  RecipeOptions recipe;
  Effort effort;
  CalibrateOptions calibration;
  std::string over;
  bool linear = false;
  std::string figure, width;
  Format format;
};

/// Throws UsageError where the plan has several settings beside the axis: a chart is of one.
void require_one_setting(const Plan& plan, const OverAxis& axis) {
  std::vector<nlohmann::json> settings;
  for (const PlannedCell& cell : plan.cells)
    if (std::ranges::find(settings, cell.settings) == settings.end())
      settings.push_back(cell.settings);
  if (settings.size() < 2) return;
  std::vector<std::string> choices;
  for (const auto& [key, value] : settings.front().items())
    if (std::ranges::any_of(settings, [&, key = key, value = value](const nlohmann::json& other) {
          return other.value(key, nlohmann::json()) != value;
        }))
      choices.push_back(fmt::format("sweep.{}=[{}]", key, value.is_object() ? "…" : value.dump()));
  throw UsageError(
      fmt::format("a chart is of one setting, and this recipe has {} beside {}: choose one, as "
                  "with{}",
                  settings.size(), axis.key, set_options(choices)));
}

/// The seconds per iteration of each algorithm over the axis, with their intervals; and the same
/// numbers as CSV. The axis is the only thing that varies.
PageFigure crossover_figure(const PredictedRecipe& answer) {
  const Race& race = answer.races.front().second;
  CrossoverChart chart{.title = "Seconds per iteration",
                       .key = answer.axis->key,
                       .logarithmic_x = race.logarithmic,
                       .series = {}};
  std::string csv = csv_line({"algorithm", answer.axis->key, "mean", "low", "high"});
  for (std::size_t name = 0; name < race.names.size(); ++name) {
    ChartSeries& series = chart.series.emplace_back();
    series.label = race.names[name];
    series.style = static_cast<int>(name);
    for (const Race::Point& point : race.points) {
      if (!point.times[name]) continue;
      const Range& time = *point.times[name];
      series.band.add(point.value, time.mean, time.low, time.high);
      csv += csv_line({series.label, fmt::format("{}", point.value), fmt::format("{}", time.mean),
                       fmt::format("{}", time.low), fmt::format("{}", time.high)});
    }
  }
  PageFigure figure = draw(std::move(chart));
  figure.csv = std::move(csv);
  return figure;
}

Exit answer(const Session&, PredictOptions options) {
  if (options.linear && options.over.empty()) throw UsageError("--linear needs --over");
  if (options.calibration.name.empty() && options.calibration.has_options())
    throw UsageError("--seconds and --force need --calibrate");
  if (options.figure.empty() && !options.width.empty()) throw UsageError("--width needs -o");
  if (!options.figure.empty() && options.over.empty())
    throw UsageError("a chart needs --over: who is fastest where");
  if (!options.figure.empty() &&
      (options.format.json || options.format.csv || options.format.markdown))
    throw UsageError(
        "-o writes a chart and its numbers, and prints no table: leave one of them out");
  std::optional<FigureFile> figure;
  if (!options.figure.empty()) figure.emplace(options.figure, options.width, "column");
  if (const std::string& machine = options.calibration.name; !machine.empty()) {
    calibrate_machine(options.calibration, options.recipe);
    options.recipe.overrides.push_back(fmt::format("execution.virtual.machine=\"{}\"", machine));
  }
  options.recipe.driver = "virtual";
  PredictedRecipe answer{
      .effort = options.effort, .plan = {}, .axis = {}, .seeds = {}, .rows = {}, .races = {}};
  if (!options.over.empty()) answer.axis = over_axis(options.over, options.linear);
  // Over an axis, doubts would be as many as values, and say what the times show.
  predict([&](const OverAxis* over) { return options.recipe.compile(over); },
          [&](const Plan& plan) {
            if (figure) require_one_setting(plan, *answer.axis);
            if (!answer.axis) say_doubts(plan);
          },
          answer);
  if (figure) return figure->save(crossover_figure(answer), /*titled=*/true), Exit::ok;
  if (options.format.json)
    print_json(to_json(answer));
  else if (options.format.csv)
    print_data(to_csv(exact_table(answer)));
  else if (options.format.markdown)
    print_data(to_markdown(exact_table(answer)));
  else
    print_data(to_text(answer));
  return Exit::ok;
}

}  // namespace

void add_predict_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<PredictOptions>(
      app, session, "predict",
      "How long a recipe's runs take on their simulated machine, without computing them", answer);
  options.recipe.add_to(command, /*with_driver=*/false);
  add_value(command, "--draws", options.effort.draws, "N",
            "How many draws of durations and partners, at least 2 (default: 10)")
      ->check(CLI::Range(std::size_t{2}, kMostDraws).description(""));
  add_value(command, "--iterations", options.effort.iterations, "N",
            "Simulate so many gradients of each worker (default: all, if that is quick)")
      ->check(CLI::Range(1.0, 1e15).description(""));
  add_value(command, "--over", options.over, "KEY=A..B",
            "Who is fastest where: the values of a numeric key, such as "
            "network.bandwidth=1e8..1e11, network.latency=1e-6..1e-3:11, or "
            "workers.count=4,16,64");
  command.add_flag("--linear", options.linear,
                   "The values of --over have equal distances, not equal ratios");
  add_value(command, "-o,--output", options.figure, "FILE",
            "Draw the seconds over those values, .svg or .pdf, with its data beside it as .csv")
      ->check(wrong_if_empty);
  add_value(command, "--width", options.width, "WIDTH",
            "Of that figure: column (84 mm, default), text (174 mm) or millimetres");
  options.calibration.add_to(command);
  add_table_options(command, options.format);
}

}  // namespace acid
