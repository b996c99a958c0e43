#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <set>

#include "cli/show_text.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/fold.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/comparison_plan.hpp"
#include "reports/grouping.hpp"
#include "reports/heading.hpp"
#include "reports/numbers.hpp"
#include "reports/pivot.hpp"
#include "reports/run_names.hpp"
#include "reports/tags.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

struct ListOptions {
  std::vector<std::string> names;
  std::string state, algorithm;
  std::vector<std::string> where, tags;  // the tags are among the conditions, too
  bool experiments = false;
  bool runs = false, fold = false;  // a row for each run; or never so many
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
    std::vector<RunState> all;
    for (const RunSummary& run : experiment.runs) {
      all.push_back(run.state);
      seeds.insert(run.seed);
      drivers.insert(run.driver);
    }
    states = count_states(all);
    if (!experiment.runs.empty())
      left_out =
          comparison_plan_from(experiment_of(store, experiment.id).comparison).left_out.size();
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
              : fmt::format("{}", fmt::join(experiment.summary.overrides, " ")),
          fmt::format("{}", fmt::join(experiment.summary.tags, " "))};
}

Exit list_all_experiments(const Session& session, const ListOptions& options) {
  const Format& format = options.format;
  const Store store(session.store_folder, Store::Access::read);
  Table table{{"experiment", "id", "asked for (UTC)", of_numbers("settings"), "runs", "seeds",
               "driver", "swept (values)", "--set", "tags"},
              {}};
  nlohmann::json listed = nlohmann::json::array();
  std::vector<ExperimentSummary> experiments = list_experiments(store);
  for (const std::string& tag : options.tags)
    std::erase_if(experiments, [&](const ExperimentSummary& each) {
      return std::ranges::find(each.tags, tag) == each.tags.end();
    });
  for (const ExperimentSummary& summary : experiments) {
    const ListedExperiment experiment(store, summary);
    if (format.json)
      listed.push_back(to_json(experiment));
    else
      table.rows.push_back(row_of(experiment));
  }
  remove_if_empty(table, "tags");
  constexpr int kWidest = 60;
  if (format.json) {
    print_json({{"experiments", listed}});
    return Exit::ok;
  }
  print_data(format.csv        ? to_csv(table)
             : format.markdown ? to_markdown(table)
                               : to_text(table, lines_of_standard_output(), kWidest));
  if (experiments.empty()) say("no experiments match");
  return Exit::ok;
}

/// What of the runs is on one row.
enum class FoldedBy { setting, algorithm, experiment };

// The value of the key metric that runs ended with, over the finished ones.
std::string folded_result(const std::vector<RunSummary>& runs,
                          const std::vector<std::size_t>& rows) {
  std::set<std::string> metrics;
  std::vector<double> values;
  for (const std::size_t row : rows) {
    const RunSummary& run = runs[row];
    if (run.state != RunState::finished) continue;
    metrics.insert(key_metric(run));
    if (const auto value = run.metrics.find(key_metric(run)); value != run.metrics.end())
      values.push_back(value->second);
  }
  if (metrics.size() != 1 || values.empty()) return kDash;
  const auto [least, most] = std::ranges::minmax(values);
  return least == most
             ? fmt::format("{} {}", *metrics.begin(), short_number(least))
             : fmt::format("{} {} … {}", *metrics.begin(), short_number(least), short_number(most));
}

Table folded_runs(const std::vector<RunSummary>& runs,
                  const std::map<std::string, SettingName>& settings, FoldedBy by) {
  Table table{{"experiment", "algorithm", "setting", of_numbers("seeds"), "runs", "result",
               "last began (UTC)"},
              {}};
  std::vector<std::string> keys;
  for (const RunSummary& run : runs) {
    const auto setting = settings.find(run.group);
    const std::string name = shown_name(run.algorithm, run.label),
                      full = setting == settings.end() ? "" : setting->second.full;
    table.rows.push_back({run.experiment_name, name, full, "", "", "", shown_time(run.started)});
    keys.push_back(run.experiment + (by == FoldedBy::experiment  ? ""
                                     : by == FoldedBy::algorithm ? name
                                                                 : name + run.group));
  }
  const auto seeds = [&](const std::vector<std::size_t>& rows) {
    std::set<std::uint64_t> all;
    for (const std::size_t row : rows) all.insert(runs[row].seed);
    return seeds_text(all);
  };
  const auto states = [&](const std::vector<std::size_t>& rows) {
    std::vector<RunState> all;
    for (const std::size_t row : rows) all.push_back(runs[row].state);
    return counted_states(all);
  };
  const auto result = [&](const std::vector<std::size_t>& rows) {
    return folded_result(runs, rows);
  };
  const auto newest = [&](const std::vector<std::size_t>& rows) {
    std::string last;
    for (const std::size_t row : rows)
      if (!runs[row].started.empty()) last = std::max(last, table.rows[row].back());
    return last.empty() ? kDash : last;
  };
  return folded(
      table, keys,
      {{"seeds", seeds}, {"runs", states}, {"result", result}, {"last began (UTC)", newest}});
}

// A row per algorithm and setting, per algorithm, or per experiment, whichever first fits a screen;
// of too many experiments the newest.
std::string folded_text(const Store& store, const std::vector<RunSummary>& runs) {
  std::vector<RunSummary> one_of_group;
  std::set<std::string> groups;
  for (const RunSummary& run : runs)
    if (groups.insert(run.group).second) one_of_group.push_back(run);
  std::map<std::string, SettingName> settings;  // by group
  const auto names = setting_names(store, one_of_group);
  for (const RunSummary& run : one_of_group) settings[run.group] = names.at(run.id);

  constexpr std::size_t kLinesAround = 4;  // titles, the sentence below, and the next prompt
  const std::size_t most =
      std::max<std::size_t>(lines_of_screen(), kLinesAround + 1) - kLinesAround;
  Table table;
  FoldedBy used = FoldedBy::setting;
  for (const FoldedBy by : {FoldedBy::setting, FoldedBy::algorithm, FoldedBy::experiment}) {
    table = folded_runs(runs, settings, used = by);
    if (table.rows.size() <= most) break;
  }
  const std::size_t older = table.rows.size() > most ? table.rows.size() - most : 0;
  table.rows.resize(table.rows.size() - older);
  std::string text = narrowed_text(table, {"last began (UTC)", "seeds", "result"});
  if (older > 0)
    text +=
        fmt::format("… and {} ('acid list --experiments')\n", counted(older, "older experiment"));
  return text + fmt::format("{}, a row per {}; --runs lists each.\n", counted(runs.size(), "run"),
                            used == FoldedBy::setting     ? "algorithm and setting"
                            : used == FoldedBy::algorithm ? "algorithm"
                                                          : "experiment");
}

// A terminal shows a screenful; where there is none, programs read a line for each run.
bool folds(const ListOptions& options, std::size_t runs) {
  constexpr std::size_t kLinesAround = 2;  // titles, and the next prompt
  return options.fold ||
         (!options.runs && isatty(STDOUT_FILENO) == 1 && runs + kLinesAround > lines_of_screen());
}

Exit list(const Session& session, const ListOptions& options) {
  if (options.experiments) return list_all_experiments(session, options);
  RunFilter filter;
  if (!options.state.empty()) filter.state = state_from_name(options.state);
  filter.algorithm = options.algorithm;
  filter.where = options.where;
  const Store store(session.store_folder, Store::Access::read);
  if (!options.names.empty()) {
    AskedRuns asked = resolve_runs(store, options.names);
    filter.ids = std::move(asked.ids);
    filter.experiments = std::move(asked.experiments);
  }
  const auto runs = list_runs(store, filter);
  if (options.format.json) {
    nlohmann::json listed = nlohmann::json::array();
    for (const RunSummary& run : runs) listed.push_back(to_json(run));
    print_json({{"runs", listed}});
    return Exit::ok;
  }
  if (!options.format.csv && !options.format.markdown && folds(options, runs.size())) {
    print_data(folded_text(store, runs));
    return Exit::ok;
  }
  const Table table = run_table(store, runs);
  print_data(options.format.csv        ? to_csv(table)
             : options.format.markdown ? to_markdown(table)
                                       : to_text(table, lines_of_standard_output()));
  if (runs.empty()) say("no runs match");
  return Exit::ok;
}

}  // namespace

void add_list_command(CLI::App& app, Session& session) {
  auto [command, options] =
      add_command<ListOptions>(app, session, "list", "List runs, newest first", list);
  CLI::Option* const names =
      add_argument(command, "RUNS", options.names,
                   "Only these: ids, prefixes, an experiment's name, @latest (default: all)");
  add_value(command, "--state", options.state, "STATE",
            "Only runs in this state: planned, running, finished, failed, diverged, "
            "interrupted");
  add_value(command, "--algorithm", options.algorithm, "NAME", "Only runs of this algorithm");
  add_where_option(command, options.where);
  CLI::Option* const experiments =
      command.add_flag("--experiments", options.experiments,
                       "Instead: experiments, newest first, with what each sweeps and how far its "
                       "runs are; --tag then keeps those that have the tag themselves");
  experiments->excludes(names);
  for (const char* other : {"--state", "--algorithm", "--where"}) experiments->excludes(other);
  CLI::Option* const each = command.add_flag(
      "--runs", options.runs,
      "A row for every run, as is done where there is no terminal; there, more runs than lines are "
      "folded into a row per algorithm and setting, per algorithm, or per experiment");
  command.add_flag("--fold", options.fold, "Fold rows also where there is no terminal")
      ->excludes(each);
  add_table_options(command, options.format);
  add_store_option(command, session);
  command.parse_complete_callback([&command = command, &options = options] {
    if (command.count("--tag") > 0)
      options.tags = command.get_option("--tag")->as<std::vector<std::string>>();
  });
}

}  // namespace acid
