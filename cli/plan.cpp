#include "recipes/plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "cli/plan_outlook.hpp"
#include "cli/plan_text.hpp"
#include "cli/plan_time.hpp"
#include "cli/planned_outcomes.hpp"
#include "cli/recipe_options.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/fold.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/table.hpp"
#include "engine/methods/method.hpp"
#include "exports/text.hpp"
#include "reports/claims.hpp"
#include "reports/heading.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "settings/run_settings.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace {

constexpr const char* kVectorBytes = "execution.virtual.network.vector_bytes";

// From so many runs on, rows are folded.
constexpr std::size_t kMostRows = 30;
constexpr std::size_t kLinesOfSection = 5, kFewLinesOfSection = 2;

struct PlanOptions {
  RecipeOptions recipe;
  Format format;
  bool runs = false;  // a row for each
  bool probe = false, no_probe = false;
  std::size_t jobs = 1;
};

// Settings of an algorithm that tell apart groups with its name.
std::set<std::string> keys_of_namesakes(const Plan& plan,
                                        const std::map<std::string, FlatSettings>& groups) {
  std::map<std::string, std::vector<const FlatSettings*>> by_name;
  std::set<std::string> known, keys;
  for (const PlannedRun& run : plan.runs)
    if (known.insert(run.group).second)
      by_name[shown_name(run.algorithm, run.label)].push_back(&groups.at(run.group));
  for (const auto& [name, namesakes] : by_name)
    for (const std::string& key : varying_keys(namesakes))
      if (is_algorithm_key(key)) keys.insert(key);
  return keys;
}

// Settings that differ between the runs and have no column of their own, as `shown` have.
std::vector<std::string> extra_keys(const Plan& plan,
                                    const std::map<std::string, FlatSettings>& groups,
                                    const std::vector<Shown>& shown) {
  std::vector<const FlatSettings*> all;
  for (const auto& [group, each] : groups) all.push_back(&each);
  std::set<std::string> telling = keys_of_namesakes(plan, groups);
  for (const Shown& each : shown) telling.erase("algorithm." + std::string(each.key));
  std::vector<std::string> keys;
  for (const std::string& key : varying_keys(all)) {
    const bool has_column = key == "seed" || key == "workers.count" || key == "topology.kind" ||
                            key.rfind("budget.", 0) == 0 ||
                            (is_algorithm_key(key) && !telling.contains(key));
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
Table table_of(const Plan& plan, const Outlook& outlook, bool exact) {
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
  std::set<std::string> algorithms;
  for (const PlannedRun& run : plan.runs) algorithms.insert(run.algorithm);
  const std::vector<Shown> shown = shown_by(algorithms);
  auto extra = extra_keys(plan, settings, shown);
  if (exact && bytes_title(plan) != "bytes") extra.emplace_back(kVectorBytes);

  Table table{{"id", "algorithm", of_numbers("seed"), of_numbers(exact ? "workers" : "n"),
               "topology", of_numbers(exact ? "chi1" : "χ₁"), of_numbers(exact ? "chi2" : "χ₂")},
              {}};
  for (const Shown& each : shown)
    table.columns.push_back(of_numbers(std::string(exact ? each.key : each.symbol)));
  table.columns.push_back(of_numbers("gradients"));
  table.columns.push_back(of_numbers(exact ? "bytes" : bytes_title(plan)));
  const bool load = exact || std::ranges::any_of(plan.runs, [](const PlannedRun& run) {
                      return run.load.largest > 0;
                    });
  if (load) table.columns.push_back(of_numbers("load"));
  if (exact) table.columns.push_back({"digest"});
  const bool state = exact || outlook.has_begun();
  if (state) table.columns.push_back({"state"});
  for (const std::string& key : extra)
    table.columns.push_back(of_numbers(exact ? key : brief_key(key)));
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
    if (state)
      row.push_back(exact ? std::string(state_name(outlook.of(run).state()))
                          : outlook.of(run).state_words());
    for (const std::string& key : extra) {
      const nlohmann::json& value = value_at(flat, key);
      row.push_back(exact ? exact_text(value) : value_text(value));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// One row per algorithm and setting, or if `by_algorithm` per algorithm.
Table folded_table(const Plan& plan, const Outlook& outlook, bool by_algorithm) {
  Table table = table_of(plan, outlook, false);
  std::vector<std::string> keys;
  for (const PlannedRun& run : plan.runs)
    keys.push_back(by_algorithm ? shown_name(run.algorithm, run.label)
                                : run.group + shown_name(run.algorithm, run.label));
  const auto count = [](const std::vector<std::size_t>& rows) {
    return fmt::format("{}", rows.size());
  };
  const auto seeds = [&](const std::vector<std::size_t>& rows) {
    std::set<std::uint64_t> all;
    for (const std::size_t row : rows) all.insert(plan.runs[row].seed);
    return seeds_text(all);
  };
  const auto states = [&](const std::vector<std::size_t>& rows) {
    std::vector<RunState> all;
    for (const std::size_t row : rows) all.push_back(outlook.of(plan.runs[row]).state());
    return counted_states(all);
  };
  table = folded(table, keys, {{"id", count}, {"seed", seeds}, {"state", states}});
  table.columns[0] = of_numbers("runs");
  table.columns[2].title = "seeds";
  return table;
}

// The columns that say least first. Those that runs are told apart by stay.
std::vector<std::string> leaving_columns(const Plan& plan, const Table& table) {
  std::vector<std::string> leaving;
  std::set<std::string> algorithms;
  for (const PlannedRun& run : plan.runs) algorithms.insert(run.algorithm);
  for (const Shown& each : shown_by(algorithms)) leaving.emplace_back(each.symbol);
  for (const Table::Column& column : table.columns)
    if (column.title.starts_with("evaluation.")) leaving.push_back(column.title);
  for (const char* title : {"χ₂", "χ₁", "load", "gradients", "bytes"}) leaving.emplace_back(title);
  return leaving;
}

// All but the time, folded and shortened as far as it takes to fit a screen.
std::string text_of(const Plan& plan, const Outlook& outlook, const PlannedVerdict& verdict,
                    bool all_runs) {
  const std::string what = fmt::format("{}: {}, recipe {}", plan.name, text_of_count(plan),
                                       plan.recipe_digest.substr(0, 12)),
                    begun = outlook.has_begun() ? outlook.words() : "";
  if (all_runs || plan.runs.size() <= kMostRows)
    return fmt::format("{}\n{}{}\n", what, begun, begun.empty() ? "" : "\n") +
           to_text(table_of(plan, outlook, false), lines_of_standard_output()) +
           text_of_sections(plan, verdict) +
           "\nAn id is the first 12 digits of the run's SHA-256 digest (--json has all 64).\n";
  const TextLines lines = lines_of_standard_output();
  const auto line = [&](const std::string& words) {
    return (lines.cut ? wrapped(words, lines.prose(), "  ") : words) + "\n";
  };
  const std::string head = line(what) + (begun.empty() ? "" : line(begun)) + "\n";
  const auto text_with = [&](bool by_algorithm, const SectionLimits& limits) {
    const Table table = folded_table(plan, outlook, by_algorithm);
    return head + narrowed_text(table, leaving_columns(plan, table)) +
           text_of_sections(plan, verdict, limits) +
           fmt::format("\nOne row per algorithm{}; --runs lists every run{}.\n",
                       by_algorithm ? "" : " and setting",
                       limits.sections < kSections ? " and says more" : "");
  };
  const auto fits = [](const std::string& text) {
    constexpr std::size_t kLinesBelow = 4;  // the time, and the next prompt
    return static_cast<std::size_t>(std::ranges::count(text, '\n')) + kLinesBelow <=
           lines_of_screen();
  };
  std::string text = text_with(false, {kSections, kLinesOfSection});
  if (!fits(text)) text = text_with(true, {kSections, kLinesOfSection});
  for (std::size_t more = kSections; more > 0 && !fits(text); --more)  // the first one stays
    text = text_with(true, {more, kFewLinesOfSection});
  return text;
}

// A plan can be made without a store: what nothing is known of is to do.
std::optional<Store> store_if_there(const std::string& folder) {
  if (!store_exists(folder)) return std::nullopt;
  try {
    return Store(folder, Store::Access::read);
  } catch (const StoreError& error) {
    say(fmt::format("acid: warning: what has run already is not known: {}", error.what()));
    return std::nullopt;
  }
}

std::set<std::string> late_among(const std::vector<Claim>& claims, const Plan& plan,
                                 const Outlook& outlook, const Store* store) {
  if (store == nullptr) return {};
  std::set<std::string> compared;
  for (const PlannedRun& run : plan.compared()) compared.insert(run.id);
  std::vector<RunSummary> runs;
  std::vector<nlohmann::json> settings;
  for (const ExpectedRun& run : outlook.runs()) {
    if (!compared.contains(run.plan->id)) continue;
    runs.emplace_back();
    runs.back().id = run.plan->id;
    runs.back().label = run.plan->label;
    runs.back().seed = run.plan->seed;
    runs.back().state = run.state();
    settings.push_back(run.plan->settings);
  }
  return late_claims(*store, claims, runs, settings);
}

Exit plan(const Session& session, const PlanOptions& options) {
  const Plan compiled = options.recipe.compile();
  const PlannedVerdict verdict = verdict_of(compiled);
  say_warnings(compiled);
  const std::optional<Store> store = store_if_there(session.store_folder);
  const Store* const known = store ? &*store : nullptr;
  const Outlook outlook(compiled, options.recipe, known);
  const auto time = [&](bool probe) {
    return estimate_time_left(outlook, known, probe, options.jobs);
  };
  const std::vector<Claim> claims = claims_from(compiled.comparison);
  const std::set<std::string> late = late_among(claims, compiled, outlook, known);
  if (options.format.json) {
    nlohmann::json document = to_json(compiled);
    for (std::size_t k = 0; k < compiled.runs.size(); ++k)
      document["runs"][k].update(outlook.of(compiled.runs[k]).to_json());
    document["verdict"] = to_json(verdict);
    document["claims"] = planned_json(claims, late);
    document["states"] = outlook.states();
    document["time"] = time(options.probe).to_json();
    print_json(std::move(document));
  } else if (options.format.csv) {
    print_data(to_csv(table_of(compiled, outlook, true)));
  } else if (options.format.markdown) {
    print_data(to_markdown(table_of(compiled, outlook, false)) + text_of_left_out(compiled));
  } else {
    print_data(text_of(compiled, outlook, verdict, options.runs));
    if (!claims.empty())
      print_data("\n" + planned_words(claims, late, lines_of_standard_output().prose()));
    flush_data();  // a probe takes a second
    const bool probe = options.probe || (isatty(STDOUT_FILENO) == 1 && !options.no_probe);
    print_data("\n" + wrapped(time(probe).words(), lines_of_standard_output().prose()) + "\n");
  }
  return Exit::ok;
}

}  // namespace

void add_plan_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<PlanOptions>(
      app, session, "plan",
      "Compile a recipe and show its runs, which are finished, and how long the rest takes", plan);
  options.recipe.add_to(command);
  command.add_flag("--runs", options.runs,
                   "A row for every run; without it many runs are folded into a row per "
                   "algorithm and setting, and these into one per algorithm, to fit a screen");
  CLI::Option* const probe = command.add_flag(
      "--probe", options.probe,
      "Where no finished run shows how long the rest takes, compute gradients for a second "
      "(default on a terminal)");
  command.add_flag("--no-probe", options.no_probe, "Compute none")->excludes(probe);
  add_jobs_option(command, options.jobs,
                  "For the time that is left: runs at a time, as in 'acid run --jobs' (default 1)");
  add_table_options(command, options.format);
  add_store_option(command, session);
}

}  // namespace acid
