// The questions of a paper's reproducibility checklist, answered from the store.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "engine/base/names.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

enum class Answer { yes, no, unknown };

struct ChecklistItem {
  std::string question;
  Answer answer = Answer::unknown;
  std::string words;
};

std::string listed(const std::set<std::string>& words, std::size_t most = 8) {
  std::string text;
  std::size_t told = 0;
  for (const std::string& word : words) {
    if (told++ == most) return text + fmt::format(" and {} more", words.size() - most);
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

/// Values of a dotted key of the environment over all attempts, without empty ones.
std::set<std::string> recorded(const ReportData& data, const std::string& key) {
  std::set<std::string> values;
  for (const RunDetail& run : data.runs)
    for (const AttemptRow& attempt : run.attempts) {
      const FlatSettings flat = flatten(attempt.environment);
      const nlohmann::json& value = value_at(flat, key);
      if (!value.is_null() && value != "") values.insert(value_text(value));
    }
  return values;
}

ChecklistItem seeds_item(const ReportData& data) {
  std::set<std::size_t> counts;
  std::set<std::uint64_t> numbers;
  for (const ComparedGroup& group : data.comparison.groups) counts.insert(group.outcomes());
  for (const RunDetail& run : data.runs) numbers.insert(run.summary.seed);
  std::set<std::string> n;
  for (const std::size_t count : counts) n.insert(std::to_string(count));
  std::string list;
  for (const std::uint64_t seed : numbers)
    list += (list.empty() ? "" : ", ") + std::to_string(seed);
  if (numbers.size() > 20) list = fmt::format("{} different ones", numbers.size());
  const bool several = !counts.empty() && *counts.begin() > 1;
  return {"Number of runs and their seeds", several ? Answer::yes : Answer::no,
          fmt::format("{} runs with an outcome per algorithm and setting; seeds {}; {} in all.{}",
                      listed(n), list, data.runs.size(),
                      several ? "" : " One run says nothing about chance.")};
}

ChecklistItem variability_item(const ReportData& data) {
  std::set<std::string> fixed;
  for (const RunDetail& run : data.runs)
    for (const auto& [key, value] : flatten(run.settings))
      if (key.rfind("streams.", 0) == 0) fixed.insert(key.substr(8) + " = " + value_text(value));
  return {"What varies between the runs behind an interval", Answer::yes,
          "The seed, and with it everything random: start point, order of the data, partition, "
          "pairing, durations and noise." +
              (fixed.empty() ? std::string() : " Held fixed: " + listed(fixed) + ".")};
}

ChecklistItem intervals_item(const ReportData& data) {
  bool any = false;
  for (const ComparedGroup& group : data.comparison.groups) any = any || group.outcomes() > 1;
  return {"How intervals and tests were computed", any ? Answer::yes : Answer::unknown,
          "Closed form: mean ± Student’s t at 95 % × standard error over seeds, which assumes "
          "normal values. Differences are paired by seed; p is of the exact two-sided sign-flip "
          "test (signed-rank where a run diverged or with more than 40 seeds), adjusted by Holm "
          "over all comparisons of the "
          "report’s primary outcome; the intervals drawn of differences hold for all at once "
          "(Bonferroni)."};
}

ChecklistItem settings_item(const ReportData& data) {
  std::map<std::string, std::set<std::string>> swept;
  for (const ComparedPoint& point : data.comparison.points)
    for (const auto& [key, value] : point.settings) swept[key].insert(value_text(value));
  std::string words = "Every setting is in this page, defaults included.";
  if (swept.empty()) words += " One value of each: nothing was swept.";
  for (const auto& [key, values] : swept) words += fmt::format(" {}: {}.", key, listed(values));
  return {"Hyper-parameters and the ranges considered", Answer::yes, words};
}

ChecklistItem selection_item(const ReportData& data) {
  constexpr const char* kQuestion = "How hyper-parameters were chosen";
  std::string words;
  for (const Selection& selection : data.comparison.selections)
    words += fmt::format("{}{} by {} over {}, as “Search” says.", words.empty() ? "" : " ",
                         fmt::join(selection.keys(), ", "), selection.metric,
                         counted(selection.seeds.size(), "seed"));
  if (words.empty()) return {kQuestion, Answer::unknown, "Not in the store: say it in the paper."};
  return {kQuestion, Answer::yes, words};
}

ChecklistItem data_item(const ReportData& data) {
  std::set<std::string> kinds, files;
  for (const RunDetail& run : data.runs) {
    const FlatSettings flat = flatten(run.settings);
    if (const nlohmann::json kind = value_at(flat, "task.dataset.kind"); kind.is_string())
      kinds.insert(kind.get<std::string>());
    for (const auto& [file, digest] : run.file_digests) files.insert(file);
  }
  if (files.empty())
    return {"Data", kinds.empty() ? Answer::unknown : Answer::yes,
            kinds.empty() ? "Not recorded."
                          : listed(kinds) + ": made by the program itself, no files."};
  return {"Data", Answer::yes,
          fmt::format("{}; SHA-256 of {} under “Reproduce”.", listed(kinds),
                      counted(files.size(), "file"))};
}

ChecklistItem hardware_item(const ReportData& data) {
  const std::set<std::string> cpus = recorded(data, "cpu_model");
  if (cpus.empty()) return {"Hardware", Answer::unknown, "Not recorded; see “Environment”."};
  std::set<std::string> memory, devices;
  for (const std::string& bytes : recorded(data, "memory_bytes"))
    memory.insert(format_bytes(std::strtod(bytes.c_str(), nullptr)));
  for (const RunDetail& run : data.runs)
    if (const auto flat = flatten(run.settings); value_at(flat, "execution.device").is_string())
      devices.insert(value_at(flat, "execution.device").get<std::string>());
  std::string words = listed(cpus);
  if (const auto cores = recorded(data, "cores"); !cores.empty())
    words += fmt::format("; {} cores", listed(cores));
  if (!memory.empty()) words += "; " + listed(memory);
  if (!devices.empty()) words += "; device " + listed(devices);
  if (const auto hosts = recorded(data, "host"); !hosts.empty()) words += "; host " + listed(hosts);
  return {"Hardware", Answer::yes, words + "."};
}

ChecklistItem compute_item(const ReportData& data) {
  double total = 0, spent_elsewhere = 0;
  std::vector<double> finished;
  for (const RunDetail& run : data.runs) {
    double of_run = 0;
    for (const AttemptRow& attempt : run.attempts) {
      of_run += attempt.wall_seconds;
      if (attempt.outcome != "finished") spent_elsewhere += attempt.wall_seconds;
    }
    total += of_run;
    if (run.summary.state == RunState::finished) finished.push_back(of_run);
  }
  if (finished.empty()) return {"Time", Answer::unknown, "No run has finished."};
  const auto [shortest, longest] = std::minmax_element(finished.begin(), finished.end());
  return {"Time per run and in all", Answer::yes,
          fmt::format("Wall clock {} to {} per run, {} in all, of which {} in attempts that did "
                      "not finish. Other runs of the project are not counted.",
                      format_seconds(*shortest), format_seconds(*longest), format_seconds(total),
                      format_seconds(spent_elsewhere))};
}

ChecklistItem code_item(const ReportData& data) {
  const std::set<std::string> commits = recorded(data, "git_commit");
  if (commits.empty())
    return {"Version of the code", Answer::unknown, "No commit was recorded with the attempts."};
  const std::set<std::string> dirty = recorded(data, "git_dirty");
  const bool clean = dirty == std::set<std::string>{"false"};
  std::string words =
      fmt::format("acid {}, commit {}", listed(recorded(data, "acid_version")), listed(commits));
  words += clean ? "; nothing was changed in its working tree."
                 : fmt::format("; built from a changed working tree, SHA-256 of the changes {}.",
                               listed(recorded(data, "git_diff_sha256")));
  if (commits.size() > 1) words += " The runs were not all made by one build.";
  return {"Version of the code", clean && commits.size() == 1 ? Answer::yes : Answer::no, words};
}

ChecklistItem software_item(const ReportData& data) {
  std::string words;
  const auto add = [&](const char* name, const char* key) {
    if (const auto values = recorded(data, key); !values.empty())
      words += fmt::format("{}{}{}", words.empty() ? "" : "; ", name, listed(values));
  };
  add("", "system");
  add("", "c_library");
  add("", "compiler");
  add("LibTorch ", "model_runtime.libtorch");
  add("", "model_runtime.blas_config");
  return {"Software", words.empty() ? Answer::unknown : Answer::yes,
          words.empty() ? "Not recorded." : words + "."};
}

ChecklistItem commands_item(const ReportData& data) {
  if (data.experiments.empty())
    return {"Commands", Answer::no, "The recipe of these runs is no longer in the store."};
  std::string digests;
  for (const ExperimentRecord& experiment : data.experiments)
    digests += (digests.empty() ? "" : ", ") + experiment.recipe_digest.substr(0, 12) + "…";
  return {"Commands", Answer::yes,
          (data.experiments.size() == 1
               ? "Under “Reproduce”, with the recipe’s text and its digest "
               : "Under “Reproduce”, with the text of each recipe and its digest ") +
              digests};
}

ChecklistItem verified_item(const ReportData& data) {
  std::size_t finished = 0, equal = 0, differing = 0, altered = 0;
  for (const RunDetail& run : data.runs) {
    if (run.summary.state != RunState::finished) continue;
    ++finished;
    const VerificationRow* const last = decisive_verification(run);
    if (last == nullptr || (last->equal && last->from)) continue;  // a part is not the run
    ++(!last->equal ? differing : last->altered.empty() ? equal : altered);
  }
  std::string words = fmt::format(
      "{} of {} finished runs were executed again and gave the same bits.", equal, finished);
  if (differing > 0) words += fmt::format(" {} did not.", differing);
  if (altered > 0) words += fmt::format(" {} did, and were altered since.", altered);
  if (equal < finished) words += " “acid verify RUN” does it.";
  return {"Results executed again", finished > 0 && equal == finished ? Answer::yes : Answer::no,
          words};
}

ChecklistItem complete_item(const ReportData& data) {
  std::map<std::string, int> others;
  int resumed = 0;
  for (const RunDetail& run : data.runs) {
    if (run.summary.state != RunState::finished)
      ++others[std::string(state_name(run.summary.state))];
    if (run.attempts.size() > 1) ++resumed;
  }
  const int diverged = others.contains("diverged") ? others.at("diverged") : 0;
  others.erase("diverged");
  std::string words;
  for (const auto& [state, count] : others)
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, state);
  words = words.empty() ? "Every run has an outcome." : words + "; they are not in the numbers.";
  if (diverged > 0)
    words += fmt::format(
        " {} diverged: worse than every finished run in ranks and tests, short of every target, "
        "and "
        "in no mean.",
        diverged);
  if (resumed > 0) words += fmt::format(" {} took more than one attempt.", counted(resumed, "run"));
  return {"Every run is in the numbers", others.empty() ? Answer::yes : Answer::no, words};
}

ChecklistItem models_item(const ReportData& data) {
  std::size_t finished = 0, models = 0, left_out = 0;
  for (const RunDetail& run : data.runs) {
    if (run.summary.state != RunState::finished) continue;
    ++finished;
    if (!run.result) continue;
    for (const auto& artifact : run.result->artifacts)
      if (artifact.role == "final-mean") ++(artifact.removed.empty() ? models : left_out);
  }
  if (left_out > 0)
    return {
        "Final models", Answer::no,
        fmt::format("{} of {} finished runs have theirs in the store; the files of {} were left "
                    "out of this copy, which has their SHA-256.",
                    models, finished, left_out)};
  if (models == 0)
    return {"Final models", Answer::unknown,
            "None was kept: the task has no model, or no run "
            "has finished."};
  return {"Final models", models == finished ? Answer::yes : Answer::no,
          fmt::format("{} of {} finished runs have theirs in the store, with its SHA-256; “acid "
                      "export RUN --format safetensors” takes it out.",
                      models, finished)};
}

std::string_view words_of(Answer answer) {
  switch (answer) {
    case Answer::yes:
      return "✓ yes";
    case Answer::no:
      return "✗ no";
    case Answer::unknown:
      return "– open";
  }
  return {};
}

Markup mark_of(Answer answer) {
  return {fmt::format("<span class=\"mark-word\">{}</span>", words_of(answer))};
}

}  // namespace

std::string checklist_section(const ReportData& data) {
  HtmlTable table{.csv = "checklist", .head = {"item", "status", "answer"}, .first_number = 3};
  for (const ChecklistItem& item :
       {seeds_item(data), variability_item(data), intervals_item(data), settings_item(data),
        selection_item(data), data_item(data), hardware_item(data), compute_item(data),
        code_item(data), software_item(data), commands_item(data), complete_item(data),
        verified_item(data), models_item(data)})
    table.rows.push_back({text(item.question), mark_of(item.answer), text(item.words)});
  return paragraph(
             "What reproducibility checklists of conferences ask of experiments, answered from "
             "the store.") +
         "<div class=\"prose\">\n" + table.html() + "</div>\n";
}

}  // namespace acid
