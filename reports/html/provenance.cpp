// The origin of the numbers: environment, commands, digests, and doubts.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/notes.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr std::size_t kLongestValue = 400;  // longer ones are shown as a digest
constexpr std::size_t kMostValues = 6;      // of one key; attempts on many hosts have many
// Keys that belong to a single run: the plan's digest has a table, the command names a folder.
const std::set<std::string> kPerRun{"command_line", "plan_sha256"};

std::string shown(const nlohmann::json& value) {
  const std::string text = value_text(value);
  if (text.size() <= kLongestValue) return text;
  return fmt::format("{} bytes, SHA-256 {}", text.size(), sha256_hex(std::string_view(text)));
}

/// Dotted key → value → number of attempts that had it.
std::map<std::string, std::map<std::string, int>> environments(const ReportData& data) {
  std::map<std::string, std::map<std::string, int>> values;
  for (const RunDetail& run : data.runs)
    for (const AttemptRow& attempt : run.attempts)
      for (const auto& [key, value] : flatten(attempt.environment))
        if (kPerRun.count(key) == 0) ++values[key][shown(value)];
  return values;
}

/// Whether the key identifies a binary; other parts of the environment may differ between runs.
bool identifies_binary(const std::string& key) {
  static const std::set<std::string> kWords{"version", "commit", "dirty", "compiler", "flags",
                                            "binary",  "digest", "build", "build_id", "diff"};
  std::string word;
  for (const char c : key + ".") {
    if (c != '.' && c != '_') {
      word += c;
      continue;
    }
    if (kWords.count(word) > 0) return true;
    word.clear();
  }
  return false;
}

std::vector<std::string> keys_of(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

std::string run_command(const ExperimentRecord& experiment) {
  return "acid run " + quoted_for_shell(experiment.recipe_path) + set_options(experiment.overrides);
}

/// The runs of the page, as arguments of a command.
std::string run_arguments(const ReportData& data) {
  std::string arguments;
  for (const std::string& name : data.names) arguments += " " + name;
  for (const std::string& condition : data.where)
    arguments += " --where " + quoted_for_shell(condition);
  return arguments;
}

/// The commands that reproduce these results, each with its purpose.
std::string commands(const ReportData& data) {
  std::string out;
  if (!data.experiments.empty()) {
    out += data.all_of_experiments
               ? "# every run of this page; those that have finished are not repeated\n"
               : "# every run of this page, and others of the same recipes; those that have "
                 "finished are not repeated\n";
    for (const ExperimentRecord& experiment : data.experiments)
      out += run_command(experiment) + "\n";
    out += "\n# what was interrupted, from its last checkpoint\nacid resume\n\n";
  }
  const auto finished = std::ranges::find(data.runs, RunState::finished,
                                          [](const RunDetail& run) { return run.summary.state; });
  if (finished != data.runs.end())
    out +=
        "# executes one run again and compares every digest with the recorded one\nacid verify " +
        finished->summary.id + "\n\n";
  const std::string all = run_arguments(data);
  return out + "# this page\nacid report" + all +
         " --html -o report.html\n# a chart of it for a paper\nacid figure" + all +
         (data.comparison.points.size() > 1 ? " --chart overview -o overview.pdf\n"
                                            : " --chart curve -o curve.pdf\n");
}

std::string file_digests(const ReportData& data) {
  std::set<std::pair<std::string, std::string>> files;
  for (const RunDetail& run : data.runs)
    files.insert(run.file_digests.begin(), run.file_digests.end());
  if (files.empty()) return "";
  HtmlTable table{
      .csv = "data-files", .caption = "Data files", .head = {"file", "SHA-256"}, .first_number = 2};
  for (const auto& [file, digest] : files) table.rows.push_back({text(file), code(digest)});
  return table.html();
}

std::string verification_text(const RunDetail& run) {
  const VerificationRow* const last = decisive_verification(run);
  if (last == nullptr) return "not verified";
  if (last->equal && !last->altered.empty())
    return fmt::format("not verified as it is: {} ({})", last->altered, last->time);
  if (last->equal)
    return fmt::format("verified bit for bit on {} at {}{}", last->host, last->time,
                       last->from ? fmt::format(", from checkpoint {} on", *last->from) : "");
  return fmt::format("differs on {} at {}: {}", last->host, last->time, last->message);
}

std::string run_digests(const ReportData& data) {
  HtmlTable table{.csv = "digests",
                  .head = {"run", "verification", "plan", "final mean", "workers"},
                  .first_number = 5};
  for (const RunDetail& run : data.runs) {
    std::string workers;
    if (run.result)
      for (const std::string& digest : run.result->worker_digests)
        workers += fmt::format("{}{}", workers.empty() ? "" : " ",
                               digest.empty() ? "lost" : digest.substr(0, 12));
    table.rows.push_back({code(run.summary.id), text(verification_text(run)),
                          code(run.summary.digest), code(run.result ? run.result->mean_digest : ""),
                          code(workers)});
  }
  return details("Digests and verification of every run", table.html());
}

std::string value_counts(const std::map<std::string, int>& counts) {
  std::string all;
  std::size_t told = 0;
  for (const auto& [value, count] : counts) {
    if (told++ == kMostValues)
      return all + fmt::format(" · and {} more", counts.size() - kMostValues);
    if (!all.empty()) all += " · ";
    all += value;
    if (counts.size() > 1) all += fmt::format(" ({})", counted(count, "attempt"));
  }
  return all;
}

std::string environment_table(const std::map<std::string, std::map<std::string, int>>& values,
                              bool differing, const std::string& csv) {
  HtmlTable table{.csv = csv, .head = {"key", "value"}, .first_number = 2};
  for (const auto& [key, counts] : values)
    if ((counts.size() > 1) == differing)
      table.rows.push_back({code(key), text(value_counts(counts))});
  return table.rows.empty() ? "" : table.html();
}

}  // namespace

std::vector<std::string> warnings(const ReportData& data) {
  std::vector<std::string> texts = note_texts(data.comparison);
  if (is_sweep(data)) {  // whose settings have their own beside their numbers
    TableNotes notes = table_notes(data.comparison, {}, /*differences=*/true);
    texts = std::move(notes.general);
    texts.insert(texts.end(), notes.of_settings.begin(), notes.of_settings.end());
  }
  std::vector<std::string> resumed;
  for (const RunDetail& run : data.runs)
    if (run.attempts.size() > 1) resumed.push_back(run.summary.id);
  if (!resumed.empty())
    texts.push_back(
        fmt::format("{} had more than one attempt (interrupted, or forced "
                    "again): {}",
                    counted(resumed.size(), "run"), fmt::join(resumed, ", ")));
  for (const RunDetail& run : data.runs) {
    const VerificationRow* const verified = decisive_verification(run);
    if (verified != nullptr && !verified->equal)
      texts.push_back(fmt::format("{} did not give the same bits when it was verified: {}",
                                  run.summary.id, verified->message));
    if (verified != nullptr && verified->equal && !verified->altered.empty())
      texts.push_back(
          fmt::format("{} is not what was verified: {}", run.summary.id, verified->altered));
    for (const AttemptRow& attempt : run.attempts)
      if (attempt.changed.is_object() && !attempt.changed.empty())
        texts.push_back(
            fmt::format("{} went on from a checkpoint with changes that were allowed: {}",
                        run.summary.id, fmt::join(keys_of(attempt.changed), ", ")));
  }
  std::vector<std::string> mixed;
  for (const auto& [key, values] : environments(data))
    if (values.size() > 1 && identifies_binary(key)) mixed.push_back(key);
  if (!mixed.empty())
    texts.push_back(
        fmt::format("the runs were made by different builds or libraries; they differ in {}",
                    fmt::join(mixed, ", ")));
  for (const RunDetail& run : data.runs)
    if (run.summary.state == RunState::diverged || run.summary.state == RunState::failed)
      texts.push_back(fmt::format("{} ({}, seed {}) {}{}", run.summary.id, run.summary.label,
                                  run.summary.seed, state_name(run.summary.state),
                                  run.summary.message.empty() ? "" : ": " + run.summary.message));
  return texts;
}

std::string environment_section(const ReportData& data) {
  const auto values = environments(data);
  if (values.empty()) return "";
  std::string out;
  if (const std::string table = environment_table(values, true, "environment-diff"); !table.empty())
    out += paragraph("What differs between attempts:") + table;
  else
    out += paragraph("The same for every attempt of every run.");
  if (const std::string table = environment_table(values, false, "environment"); !table.empty())
    out += details("What all attempts share", table);
  return out;
}

std::string reproduce_section(const ReportData& data) {
  std::string out = fmt::format("<pre tabindex=\"0\">{}</pre>\n", escaped(commands(data)));
  if (data.experiments.empty())
    out += paragraph("The recipe these runs were asked for through compiles to other runs now.");
  for (const ExperimentRecord& experiment : data.experiments)
    out += fmt::format(
               "<dl class=\"facts\">\n<dt>experiment</dt><dd>{} ({})</dd>\n<dt>recipe digest</dt>"
               "<dd>{}</dd>\n<dt>as it was started</dt><dd>{}</dd>\n</dl>\n",
               escaped(experiment.name), code(experiment.id).html,
               code(experiment.recipe_digest).html, code(experiment.command_line).html) +
           details(data.experiments.size() == 1 ? "Recipe" : "Recipe of " + experiment.name,
                   fmt::format("<pre tabindex=\"0\">{}</pre>\n", escaped(experiment.recipe_text)));
  return out + run_digests(data) + file_digests(data);
}

}  // namespace acid
