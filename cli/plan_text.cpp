#include "cli/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "cli/show_text.hpp"
#include "cli/terminal/run_json.hpp"
#include "cli/terminal/session.hpp"
#include "engine/base/names.hpp"
#include "recipes/reference.hpp"
#include "reports/comparison_plan.hpp"
#include "reports/numbers.hpp"
#include "reports/realised_rate.hpp"
#include "reports/selection.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

// How long runs train and with which steps, as far as this is the same for all, and if `changed`
// no default.
std::string text_of_training(const Plan& plan, bool changed) {
  std::vector<FlatSettings> all;
  for (const PlannedRun& run : plan.runs)
    all.push_back(changed ? changed_from_default(flatten(run.settings)) : flatten(run.settings));
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
  const bool halves = plan.search && plan.search->halves();
  return text.empty()
             ? text
             : fmt::format("\nAll runs{} have\n{}", halves ? " of the first rung" : "", text);
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
    const char* const most = run.samples->may_end_early ? "at most " : "";
    std::string line = fmt::format("evaluations at the start and {}{}{} more", most,
                                   run.samples->is_exact ? "" : "about ", run.samples->evaluations);
    if (run.samples->share)
      line += fmt::format(" (about {} of the cost of the gradients)",
                          format_percent(*run.samples->share));
    line += fmt::format(", {}{} of the consensus distance and one at every evaluation", most,
                        counted(static_cast<std::uint64_t>(run.samples->consensus + 1), "sample"));
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

bool has_random_gradients(const nlohmann::json& settings) {
  const ComputeModel compute = settings_from(settings).execution.simulation.compute;
  return compute.kind != ComputeKind::constant || compute.slowdown_probability > 0;
}

// The rates that are expected where workers exchange as often as they can, each once.
std::string text_of_saturation(const Plan& plan) {
  std::set<std::string> told;
  std::string text;
  for (const PlannedRun& run : plan.runs) {
    if (!saturates(run.settings)) continue;
    const std::string line = fmt::format(
        "{} with {} workers exchanges as often as its network carries: about {:.4g} times per "
        "worker and gradient, from which χ₁ and χ₂ are{}.\n",
        shown_name(run.algorithm, run.label), run.workers, nominal_rate(run.settings).value_or(0),
        has_random_gradients(run.settings)
            ? ", if every gradient takes its mean; random ones leave room for fewer"
            : "");
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

// "38 % of the grid's 51200"; empty if that is not known.
std::string share_of_grid(const PlannedSearch& search) {
  if (search.grid_gradients == 0) return {};
  return fmt::format(
      "{:.3g} % of the grid's {}",
      100.0 * static_cast<double>(search.gradients()) / static_cast<double>(search.grid_gradients),
      search.grid_gradients);
}

// What the rungs of successive halving run. The table before it has the first. `folded`: in one
// sentence.
std::string text_of_rungs(const Plan& plan, bool folded) {
  if (!plan.search || !plan.search->halves()) return {};
  const PlannedSearch& search = *plan.search;
  const std::string share = share_of_grid(search);
  if (folded) {
    std::vector<std::string> rungs;
    for (const PlannedSearch::Rung& rung : search.rungs)
      rungs.push_back(fmt::format("{} with {}", rung.values, share_of_budget(rung.share)));
    return fmt::format("{}, the same for every algorithm; values: {}{}\n",
                       counted(rungs.size(), "rung"), fmt::join(rungs, ", "),
                       share.empty() ? share : fmt::format("; {} gradients", share));
  }
  std::string text = fmt::format(
      "\nThe search halves in {}, with the same budgets for every algorithm and setting; the table "
      "has the first:\n",
      counted(search.rungs.size(), "rung"));
  for (std::size_t k = 0; k < search.rungs.size(); ++k)
    text += fmt::format("  rung {}: {} with {}, {}, {}\n", k + 1,
                        counted(search.rungs[k].values, "value"),
                        share_of_budget(search.rungs[k].share), counted(search.rung_runs(k), "run"),
                        counted(static_cast<std::uint64_t>(search.rungs[k].gradients), "gradient"));
  if (share.empty()) return text;
  return text + fmt::format("  {} in all, {}\n",
                            counted(static_cast<std::uint64_t>(search.gradients()), "gradient"),
                            share);
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

// A section, after an empty line: its lines broken where they are long, and at most so many.
std::string shortened_section(const std::string& section, std::size_t most, int columns) {
  std::string text;
  std::size_t lines = 0, left_out = 0;
  for (std::size_t at = section.find_first_not_of('\n'); at < section.size();) {
    const std::size_t end = section.find('\n', at);
    std::string line = section.substr(at, end - at);
    if (terminal_columns(line) > columns)
      line = std::string(std::min(line.find_first_not_of(' '), line.size()), ' ') +
             wrapped(trimmed(line), columns - 2, "    ");
    const auto its_lines = 1 + static_cast<std::size_t>(std::ranges::count(line, '\n'));
    lines += its_lines;
    if (lines <= most)
      text += line + "\n";
    else
      left_out += its_lines;
    at = end + 1;
  }
  if (left_out > 0) text += fmt::format("  … and {} more (--runs)\n", counted(left_out, "line"));
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::string text_of_left_out(const Plan& plan) {
  const auto cells = left_out_from(to_json(plan.left_out));
  if (cells.empty()) return {};
  return fmt::format("\nLeft out, since the parts do not go together:\n  {}\n",
                     fmt::join(left_out_words(cells), "\n  "));
}

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

std::string text_of_sections(const Plan& plan, const PlannedVerdict& verdict,
                             std::optional<SectionLimits> limits) {
  const TextLines lines = lines_of_standard_output();
  const int columns = lines.cut ? lines.prose() : TextLines::kLongestProse;
  const std::array<std::string, kSections> sections{text_of_rungs(plan, limits.has_value()),
                                                    text_of_training(plan, limits.has_value()),
                                                    text_of_samples(plan),
                                                    text_of_shared(plan),
                                                    text_of_left_out(plan),
                                                    text_of_examples(plan),
                                                    text_of_schedules(plan),
                                                    text_of_groups(plan),
                                                    text_of_saturation(plan),
                                                    text_of_agreement(plan)};
  constexpr std::size_t kWhole = 100;  // lines: a search has all of its rungs
  std::string text;
  for (std::size_t k = 0; k < (limits ? limits->sections : kSections); ++k)
    text += limits ? shortened_section(sections[k], k == 0 ? kWhole : limits->lines, columns)
                   : sections[k];
  return verdict.comparisons.most == 0 ? text : text + "\n" + words_of(verdict, columns);
}

}  // namespace acid
