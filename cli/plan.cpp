#include "recipes/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "cli/planned_outcomes.hpp"
#include "cli/recipe_options.hpp"
#include "cli/schedule_text.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "engine/base/names.hpp"
#include "engine/methods/method.hpp"
#include "exports/text.hpp"
#include "reports/heading.hpp"
#include "reports/left_out.hpp"
#include "reports/numbers.hpp"
#include "reports/realised_rate.hpp"
#include "reports/selection.hpp"
#include "reports/settings.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

constexpr const char* kVectorBytes = "execution.virtual.network.vector_bytes";

struct PlanOptions {
  RecipeOptions recipe;
  Format format;
};

// Settings that differ between the runs and have no column of their own.
std::vector<std::string> extra_keys(const std::map<std::string, FlatSettings>& groups) {
  std::vector<const FlatSettings*> all;
  for (const auto& [group, each] : groups) all.push_back(&each);
  std::vector<std::string> keys;
  for (const std::string& key : varying_keys(all)) {
    const bool has_column = key == "seed" || key == "workers.count" || key == "topology.kind" ||
                            key.rfind("budget.", 0) == 0 || is_algorithm_key(key);
    if (!has_column) keys.push_back(key);
  }
  return keys;
}

// "bytes as of 260 MB vectors", where all runs stand for a large model of the same size. Where
// sizes differ, they have a column.
std::string bytes_title(const Plan& plan) {
  std::set<std::string> words;
  for (const PlannedRun& run : plan.runs) words.insert(stand_in_words(run.settings));
  return words.size() == 1 && !words.begin()->empty() ? "bytes " + *words.begin() : "bytes";
}

// `exact`: numbers that programs can read back; else numbers rounded for a terminal.
Table table_of(const Plan& plan, bool exact) {
  const auto number = [&](std::optional<double> value) {
    if (!exact) return short_number(value);
    return value ? exact_digits(*value) : std::string();
  };
  // Runs of one group differ in their seed, which has a column, and in numbers of their algorithm,
  // so the first run stands for all.
  std::map<std::string, FlatSettings> settings;
  for (const PlannedRun& run : plan.runs)
    if (settings.find(run.group) == settings.end())
      settings.emplace(run.group, flatten(run.settings));
  auto extra = extra_keys(settings);
  if (exact && bytes_title(plan) != "bytes") extra.emplace_back(kVectorBytes);
  std::set<std::string> algorithms;
  for (const PlannedRun& run : plan.runs) algorithms.insert(run.algorithm);
  const std::vector<Shown> shown = shown_by(algorithms);

  Table table{{{"id"},
               {"algorithm"},
               {"seed", true},
               {exact ? "workers" : "n", true},
               {"topology"},
               {exact ? "chi1" : "χ₁", true},
               {exact ? "chi2" : "χ₂", true}},
              {}};
  for (const Shown& each : shown)
    table.columns.push_back({std::string(exact ? each.key : each.symbol), true});
  table.columns.push_back({"gradients", true});
  table.columns.push_back({exact ? "bytes" : bytes_title(plan), true});
  const bool load = exact || std::ranges::any_of(plan.runs, [](const PlannedRun& run) {
                      return run.load.largest > 0;
                    });
  if (load) table.columns.push_back({"load", true});
  if (exact) table.columns.push_back({"digest"});
  for (const std::string& key : extra)
    table.columns.push_back({exact ? key : brief_key(key), true});
  for (const PlannedRun& run : plan.runs) {
    const FlatSettings& flat = settings.at(run.group);
    std::vector<std::string> row{run.id,
                                 shown_name(run.algorithm, run.label),
                                 fmt::format("{}", run.seed),
                                 fmt::format("{}", run.workers),
                                 run.graph.kind,
                                 number(run.chi1),
                                 number(run.chi2)};
    for (const Shown& each : shown) {
      const auto found = run.numbers.find(std::string(each.key));
      row.push_back(
          number(found == run.numbers.end() ? std::nullopt : std::optional(found->second)));
    }
    row.push_back(fmt::format("{}", run.budget_gradients));
    row.push_back(exact ? exact_digits(run.bytes) : format_bytes(run.bytes));
    if (load) row.push_back(number(run.load.largest));
    if (exact) row.push_back(run.digest);
    for (const std::string& key : extra) {
      const nlohmann::json& value = value_at(flat, key);
      row.push_back(value.is_null() ? exact ? "" : kDash : value_text(value));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// How long runs train and with which steps, as far as this is the same for all.
std::string text_of_training(const Plan& plan) {
  std::vector<FlatSettings> all;
  for (const PlannedRun& run : plan.runs) all.push_back(flatten(run.settings));
  std::string text;
  for (const char* table : {"optimizer", "budget"}) {
    std::vector<std::string> words;
    for (const auto& [key, value] : all.front())
      if (key.starts_with(table + std::string(".")) && !value.is_null() &&
          std::ranges::all_of(all, [&, &k = key, &v = value](const FlatSettings& one) {
            return value_at(one, k) == v;
          }))
        words.push_back(fmt::format("{} {}", key.substr(key.find('.') + 1), value_text(value)));
    if (!words.empty()) text += fmt::format("  {}: {}\n", table, fmt::join(words, ", "));
  }
  return text.empty() ? text : "\nAll runs have\n" + text;
}

// The data sets that are read, and the examples that are held out, each once.
std::string text_of_examples(const Plan& plan) {
  std::set<std::string> told;
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (const std::string splits = fmt::format("\n{}\n", fmt::join(run.read.splits, "\n"));
        !run.read.splits.empty() && told.insert(splits).second)
      text += splits;
    if (!run.examples || run.examples->validation == 0) continue;
    std::string line =
        fmt::format("\nExamples of {}: {} to train on, {} held out for validation, {} to test on\n",
                    value_text(value_at(flatten(run.settings), "task.dataset.kind")),
                    run.examples->train, run.examples->validation, run.examples->test);
    if (told.insert(line).second) text += line;
  }
  return text;
}

// How often runs are observed and what that costs, each once.
std::string text_of_samples(const Plan& plan) {
  std::vector<std::pair<std::string, std::string>>
      lines;  // with the algorithms and workers of each
  for (const PlannedRun& run : plan.runs) {
    if (!run.samples) continue;
    std::string line =
        fmt::format("evaluations at the start and {} more", run.samples->evaluations);
    if (run.samples->share)
      line +=
          fmt::format(" (about {:.2g} % of the cost of the gradients)", 100 * *run.samples->share);
    line += fmt::format(", {} samples of the consensus distance", run.samples->consensus + 1);
    const std::string of =
        fmt::format("{} with {} workers", shown_name(run.algorithm, run.label), run.workers);
    const auto known = std::ranges::find(lines, line, &std::pair<std::string, std::string>::second);
    if (known == lines.end())
      lines.emplace_back(of, line);
    else if (known->first.find(of) == std::string::npos)
      known->first += ", " + of;
  }
  if (lines.empty()) return "";
  if (lines.size() == 1) return fmt::format("\nEach run has {}.\n", lines[0].second);
  std::string text = "\n";
  for (const auto& [of, line] : lines) text += fmt::format("{}: {}.\n", of, line);
  return text;
}

// The numbers of graphs that change, each graph once.
std::string text_of_schedules(const Plan& plan) {
  std::set<std::string> told;
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (!run.graph.schedule) continue;
    std::string graph = fmt::format("{} workers", run.workers);
    for (const auto& [key, value] : flatten(run.settings))
      if (key.starts_with("topology.") && !value.is_null())
        graph += fmt::format(", {} {}", key.substr(key.find('.') + 1), value_text(value));
    if (!told.insert(graph).second) continue;
    text += fmt::format("\nThe graph of {} changes:\n{}", graph,
                        text_of_schedule(document_of(*run.graph.schedule)));
  }
  return text;
}

// How neighbours average where that is not by messages alone, each once.
std::string text_of_groups(const Plan& plan) {
  std::set<std::string> told;
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (run.graph.largest_group < 3) continue;
    const std::string line = fmt::format(
        "{}, {} {}: neighbours form groups of up to {}, and average by {}\n",
        shown_name(run.algorithm, run.label), run.workers, run.graph.kind, run.graph.largest_group,
        run.graph.exchange == "messages" ? "messages to each other"
                                         : "an all-reduce in each group");
    if (told.insert(line).second) text += line;
  }
  return text.empty() ? text : "\n" + text;
}

// The theory's statements about exchanges, each once.
std::string text_of_agreement(const Plan& plan) {
  std::set<std::string> told;
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (!run.agreement.left) continue;
    const std::string line =
        fmt::format("  {}, {} {}: {:.6g}, {:.6g} exchanges per gradient\n",
                    shown_name(run.algorithm, run.label), run.workers, run.graph.kind,
                    *run.agreement.left, run.agreement.exchanges_per_gradient);
    if (told.insert(line).second) text += line;
  }
  if (text.empty()) return text;
  return "\nThe share of the workers' differences that is left after one exchange (in the long "
         "run, "
         "without gradients):\n" +
         text;
}

// The rates that are expected where workers exchange as often as they can, each once.
std::string text_of_saturation(const Plan& plan) {
  std::set<std::string> told;
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (!saturates(run.settings)) continue;
    const std::string line = fmt::format(
        "{} with {} workers exchanges as often as its network carries: about {:.4g} "
        "times per worker and gradient, from which χ₁ and χ₂ are.\n",
        shown_name(run.algorithm, run.label), run.workers, nominal_rate(run.settings).value_or(0));
    if (told.insert(line).second) text += line;
  }
  return text.empty() ? text : "\n" + text;
}

// Says which runs are computed once for several settings.
std::string text_of_shared(const Plan& plan) {
  std::map<std::pair<std::string, std::size_t>, std::size_t>
      shared;  // by name and number of settings
  for (const PlannedRun& run : plan.runs)
    if (run.graph.swept.size() > 1)
      ++shared[{shown_name(run.algorithm, run.label), run.graph.swept.size()}];
  std::string text;
  for (const auto& [which, runs] : shared)
    text += fmt::format(
        "\n{} reads no graph: {} computed once and shared by {} settings.\n", which.first,
        runs == 1 ? "its run is" : fmt::format("each of its {} runs is", runs), which.second);
  return text;
}

// The cells of the sweep of which nothing runs.
std::string text_of_left_out(const Plan& plan) {
  const auto cells = left_out_from(to_json(plan.left_out));
  if (!cells || cells->empty()) return {};
  return fmt::format("\nLeft out, since the parts do not go together:\n  {}\n",
                     fmt::join(left_out_words(*cells), "\n  "));
}

// What execution.predict adds to them. A cell of a search counts by its first value.
std::string text_of_prediction(const Plan& plan) {
  std::set<std::string> groups;
  for (const PlannedCell& cell : plan.cells) groups.insert(cell.group);
  int all = 0;
  for (const PlannedRun& run : plan.compared())
    if (groups.erase(run.group) > 0) {
      const ExecutionSettings execution = settings_from(run.settings).execution;
      if (execution.predict) all += execution.predict_runs;
    }
  return all > 0 ? fmt::format(", predicted from {} simulated ones", all) : "";
}

// What the rungs of successive halving run. The table before it has the first.
std::string text_of_rungs(const Plan& plan) {
  if (!plan.search || !plan.search->halves()) return {};
  const PlannedSearch& search = *plan.search;
  std::string text = fmt::format(
      "\nThe search halves in {}, with the same budgets for every algorithm and setting; the table "
      "has the first:\n",
      counted(search.rungs.size(), "rung"));
  for (std::size_t k = 0; k < search.rungs.size(); ++k)
    text += fmt::format("  rung {}: {} with {}, {}, {}\n", k + 1,
                        counted(search.rungs[k].values, "value"),
                        share_of_budget(search.rungs[k].share), counted(search.rung_runs(k), "run"),
                        counted(static_cast<std::uint64_t>(search.rungs[k].gradients), "gradient"));
  if (search.grid_gradients == 0) return text;
  return text + fmt::format("  {} in all, {:.3g} % of the grid's {}\n",
                            counted(static_cast<std::uint64_t>(search.gradients()), "gradient"),
                            100.0 * static_cast<double>(search.gradients()) /
                                static_cast<double>(search.grid_gradients),
                            search.grid_gradients);
}

// The number of runs, before anything else is known.
std::string text_of_count(const Plan& plan) {
  if (!plan.search) return counted(plan.runs.size(), "run") + text_of_prediction(plan);
  const PlannedSearch& search = *plan.search;
  return fmt::format(
      "a search of {} ({} of {} for each algorithm and setting, seeds {}, chosen by {}), then {} "
      "of the values chosen{}",
      counted(plan.search_count(), "run"),
      counted(search.values, search.draw_seed ? "drawn value" : "value"),
      fmt::join(search.keys, ", "), fmt::join(search.seeds, ", "), search.metric,
      counted(search.final_count(), "run"), text_of_prediction(plan));
}

Exit plan(const PlanOptions& options) {
  const Plan compiled = options.recipe.compile();
  const PlannedVerdict verdict = verdict_of(compiled);
  say_warnings(compiled);
  if (options.format.json) {
    nlohmann::json document = to_json(compiled);
    document["verdict"] = to_json(verdict);
    print_json(document);
  } else if (options.format.csv) {
    print_data(to_csv(table_of(compiled, true)));
  } else if (options.format.markdown) {
    print_data(to_markdown(table_of(compiled, false)) + text_of_left_out(compiled));
  } else {
    print_data(fmt::format("{}: {}, recipe {}\n\n{}", compiled.name, text_of_count(compiled),
                           compiled.recipe_digest.substr(0, 12),
                           to_text(table_of(compiled, false), lines_of_standard_output())));
    print_data(text_of_rungs(compiled) + text_of_training(compiled) + text_of_samples(compiled) +
               text_of_shared(compiled) + text_of_left_out(compiled) + text_of_examples(compiled) +
               text_of_schedules(compiled) + text_of_groups(compiled) +
               text_of_saturation(compiled) + text_of_agreement(compiled) +
               (verdict.comparisons.most > 0 ? "\n" + words_of(verdict) : ""));
    print_data("\nAn id is the first 12 digits of the run's SHA-256 digest (--json has all 64).\n");
  }
  return Exit::ok;
}

}  // namespace

void add_plan_command(CLI::App& app, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command = app.add_subcommand("plan", "Compile a recipe and show its runs");
  options->recipe.add_to(*command);
  add_table_options(*command, options->format);
  command->callback([&session, options] { session.action = [options] { return plan(*options); }; });
}

}  // namespace acid
