#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "cli/show_text.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/comparison_plan.hpp"
#include "reports/grouping.hpp"
#include "reports/heading.hpp"
#include "reports/pivot.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct ListOptions {
  std::vector<std::string> names;
  std::string state, algorithm;
  std::vector<std::string> where;
  bool experiments = false;
  Format format;
};

// The settings in which an experiment's runs differ, as a comparison finds them: one run of each
// group is enough.
Comparison sweep_of(const Store& store, const ExperimentSummary& experiment) {
  std::set<std::string> groups;
  std::vector<std::string> ids;
  std::vector<ComparedRun> runs;
  for (const RunSummary& run : experiment.runs)
    if (groups.insert(run.group).second) {
      ids.push_back(run.id);
      runs.emplace_back();
      runs.back().summary = run;
    }
  const std::vector<nlohmann::json> settings = run_settings(store, ids);
  for (std::size_t k = 0; k < runs.size(); ++k) runs[k].settings = settings[k];
  Comparison sweep;
  form_groups(sweep, runs);
  share_groups(sweep);
  form_points(sweep);
  return sweep;
}

struct ListedExperiment {
  const ExperimentSummary& summary;
  Comparison sweep;
  std::vector<std::pair<RunState, int>> states;  // the states that occur
  std::set<std::uint64_t> seeds;
  std::set<std::string> drivers;
  std::size_t left_out = 0;  // cells of its sweep

  ListedExperiment(const Store& store, const ExperimentSummary& experiment)
      : summary(experiment), sweep(sweep_of(store, experiment)) {
    for (const RunState state : {RunState::finished, RunState::diverged, RunState::failed,
                                 RunState::running, RunState::interrupted, RunState::planned})
      if (const auto count = std::ranges::count(experiment.runs, state, &RunSummary::state);
          count > 0)
        states.emplace_back(state, static_cast<int>(count));
    for (const RunSummary& run : experiment.runs) {
      seeds.insert(run.seed);
      drivers.insert(run.driver);
    }
    if (!experiment.runs.empty())
      left_out = comparison_plan_from(experiment_of(store, experiment.runs.front()).comparison)
                     .left_out.size();
  }
};

nlohmann::json to_json(const ListedExperiment& experiment) {
  nlohmann::json states = nlohmann::json::object(), swept = nlohmann::json::object();
  for (const auto& [state, count] : experiment.states)
    states[std::string(state_name(state))] = count;
  for (const ComparedPoint& point : experiment.sweep.points)
    for (const auto& [key, value] : point.settings) {
      nlohmann::json& values = swept.emplace(key, nlohmann::json::array()).first.value();
      if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
    }
  return {{"id", experiment.summary.id},
          {"name", experiment.summary.name},
          {"created", experiment.summary.created},
          {"settings", experiment.sweep.points.size()},
          {"left_out", experiment.left_out},
          {"runs", experiment.summary.runs.size()},
          {"states", states},
          {"seeds", experiment.seeds},
          {"drivers", experiment.drivers},
          {"swept", swept},
          {"overrides", experiment.summary.overrides},
          {"tags", experiment.summary.tags},
          {"notes", to_json(experiment.summary.notes)}};
}

std::vector<std::string> row_of(const ListedExperiment& experiment) {
  std::vector<std::string> states, swept;
  for (const auto& [state, count] : experiment.states)
    states.push_back(fmt::format("{} {}", count, state_name(state)));
  for (const PivotAxis& axis : axes_of(experiment.sweep)) {
    std::set<std::string> values;
    for (const ComparedPoint& point : experiment.sweep.points)
      values.insert(axis_text(axis, point));
    swept.push_back(fmt::format("{} ({})", axis.title, values.size()));
  }
  return {experiment.summary.name,
          experiment.summary.id,
          shown_time(experiment.summary.created),
          fmt::format("{}{}", experiment.sweep.points.size(),
                      experiment.left_out == 0
                          ? ""
                          : fmt::format(", {} left out", counted(experiment.left_out, "cell"))),
          fmt::format("{}", fmt::join(states, ", ")),
          seeds_text(experiment.seeds),
          fmt::format("{}", fmt::join(experiment.drivers, ", ")),
          swept.empty() ? kDash : fmt::format("{}", fmt::join(swept, ", ")),
          experiment.summary.overrides.empty()
              ? kDash
              : fmt::format("{}", fmt::join(experiment.summary.overrides, " "))};
}

Exit list_all_experiments(const Session& session, const Format& format) {
  const Store store(session.store_folder, Store::Access::read);
  Table table{{{"experiment"},
               {"id"},
               {"asked for (UTC)"},
               {"settings", true},
               {"runs"},
               {"seeds"},
               {"driver"},
               {"swept (values)"},
               {"--set"}},
              {}};
  nlohmann::json listed = nlohmann::json::array();
  const std::vector<ExperimentSummary> experiments = list_experiments(store);
  const bool tagged = std::ranges::any_of(
      experiments, [](const ExperimentSummary& each) { return !each.tags.empty(); });
  if (tagged) table.columns.push_back({"tags"});
  for (const ExperimentSummary& summary : experiments) {
    const ListedExperiment experiment(store, summary);
    if (format.json)
      listed.push_back(to_json(experiment));
    else
      table.rows.push_back(row_of(experiment));
    if (tagged && !format.json)
      table.rows.back().push_back(fmt::format("{}", fmt::join(summary.tags, " ")));
  }
  constexpr int kWidest = 60;
  if (format.json)
    print_json({{"schema_version", kJsonSchemaVersion}, {"experiments", listed}});
  else
    print_data(format.csv        ? to_csv(table)
               : format.markdown ? to_markdown(table)
                                 : to_text(table, lines_of_standard_output(), kWidest));
  return Exit::ok;
}

Exit list(const Session& session, const ListOptions& options) {
  if (options.experiments) return list_all_experiments(session, options.format);
  RunFilter filter;
  if (!options.state.empty()) filter.state = state_from_name(options.state);
  filter.algorithm = options.algorithm;
  filter.where = options.where;
  const Store store(session.store_folder, Store::Access::read);
  if (!options.names.empty()) filter.ids = resolve_runs(store, options.names).ids;
  const auto runs = list_runs(store, filter);
  if (options.format.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const RunSummary& run : runs) listed.push_back(to_json(run));
    print_json({{"schema_version", kJsonSchemaVersion}, {"runs", listed}});
    return Exit::ok;
  }
  const Table table = run_table(runs);
  print_data(options.format.csv        ? to_csv(table)
             : options.format.markdown ? to_markdown(table)
                                       : to_text(table, lines_of_standard_output()));
  if (runs.empty()) say("no runs match");
  return Exit::ok;
}

}  // namespace

void add_list_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* command = app.add_subcommand("list", "List runs, newest first");
  CLI::Option* const names =
      command
          ->add_option("RUNS", options->names,
                       "Only these: ids, prefixes, an experiment's name, @latest (default: all)")
          ->type_name(" ");
  command
      ->add_option("--state", options->state,
                   "Only runs in this state: planned, running, finished, failed, diverged, "
                   "interrupted")
      ->type_name("STATE");
  command->add_option("--algorithm", options->algorithm, "Only runs of this algorithm")
      ->type_name("NAME");
  add_where_option(*command, options->where);
  CLI::Option* const experiments =
      command->add_flag("--experiments", options->experiments,
                        "Instead: experiments, newest first, with what each sweeps and how far its "
                        "runs are");
  experiments->excludes(names);
  for (const char* other : {"--state", "--algorithm", "--where", "--tag"})
    experiments->excludes(other);
  add_table_options(*command, options->format);
  add_store_option(*command, session);
  command->callback([&session, options] {
    session.action = [&session, options] { return list(session, *options); };
  });
}

}  // namespace acid
