// Where the numbers come from: environment, commands, digests, and what to doubt.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/digest.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr std::size_t kLongestValue = 400;  // longer ones (a working tree's diff) show as a digest

std::string shown(const nlohmann::json& value) {
  const std::string text = value_text(value);
  if (text.size() <= kLongestValue) return text;
  return fmt::format("{} bytes, SHA-256 {}", text.size(), sha256_hex(std::string_view(text)));
}

/// Dotted key → value → how many attempts had it.
std::map<std::string, std::map<std::string, int>> environments(const ReportData& data) {
  std::map<std::string, std::map<std::string, int>> values;
  for (const RunDetail& run : data.runs)
    for (const AttemptRow& attempt : run.attempts)
      for (const auto& [key, value] : flatten(attempt.environment)) ++values[key][shown(value)];
  return values;
}

/// What identifies a binary; other parts of the environment may differ from run to run.
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

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string command(const ExperimentRecord& experiment) {
  std::string line = "acid run " + shell_word(experiment.recipe_path);
  for (const std::string& override_text : experiment.overrides)
    line += " --set " + shell_word(override_text);
  return line;
}

std::string file_digests(const ReportData& data) {
  std::set<std::pair<std::string, std::string>> files;
  for (const RunDetail& run : data.runs)
    files.insert(run.file_digests.begin(), run.file_digests.end());
  if (files.empty()) return "";
  HtmlTable table;
  table.caption = "Data files";
  table.head = {"file", "SHA-256"};
  table.first_number = 2;
  for (const auto& [file, digest] : files) table.rows.push_back({text(file), code(digest)});
  return table.html();
}

std::string run_digests(const ReportData& data) {
  HtmlTable table;
  table.head = {"run", "plan", "final mean", "workers"};
  table.first_number = 4;
  for (const RunDetail& run : data.runs) {
    std::string workers;
    if (run.result)
      for (const std::string& digest : run.result->worker_digests)
        workers += digest.substr(0, 12) + " ";
    table.rows.push_back({code(run.summary.id), code(run.summary.digest),
                          code(run.result ? run.result->mean_digest : ""), code(workers)});
  }
  return details("Digests of every run", table.html());
}

}  // namespace

std::string shell_word(const std::string& word) {
  const auto harmless = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,+@%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), harmless)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<std::string> warnings(const ReportData& data) {
  std::vector<std::string> texts = data.comparison.notes;
  std::vector<std::string> resumed;
  for (const RunDetail& run : data.runs)
    if (run.attempts.size() > 1) resumed.push_back(run.summary.id);
  if (!resumed.empty())
    texts.push_back(
        fmt::format("{} run{} had more than one attempt (interrupted, or forced "
                    "again): {}",
                    resumed.size(), resumed.size() == 1 ? "" : "s", joined(resumed)));
  std::vector<std::string> mixed;
  for (const auto& [key, values] : environments(data))
    if (values.size() > 1 && identifies_binary(key)) mixed.push_back(key);
  if (!mixed.empty())
    texts.push_back("the runs were made by different builds or libraries; they differ in " +
                    joined(mixed));
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
  HtmlTable table;
  table.head = {"key", "value"};
  table.first_number = 2;
  for (const auto& [key, counts] : values) {
    std::string all;
    for (const auto& [value, count] : counts) {
      if (!all.empty()) all += " · ";
      all += value;
      if (counts.size() > 1) all += fmt::format(" ({} attempts)", count);
    }
    table.rows.push_back({code(key), text(all)});
  }
  return "<section id=\"environment\">\n<h2>Environment</h2>\n" +
         paragraph("As recorded with each attempt; several values where attempts differ.") +
         details(fmt::format("{} entries", values.size()), table.html()) + "</section>\n";
}

std::string reproduce_section(const ReportData& data) {
  const ExperimentRecord& experiment = data.experiment;
  std::string out = "<section id=\"reproduce\">\n<h2>Reproduce</h2>\n";
  out += fmt::format("<pre>{}</pre>\n", escaped(command(experiment)));
  out += fmt::format(
      "<dl class=\"facts\">\n<dt>experiment</dt><dd>{} ({})</dd>\n<dt>recipe digest</dt>"
      "<dd>{}</dd>\n<dt>as it was started</dt><dd>{}</dd>\n</dl>\n",
      escaped(experiment.name), code(experiment.id).html, code(experiment.recipe_digest).html,
      code(experiment.command_line).html);
  out += details("Recipe", fmt::format("<pre>{}</pre>\n", escaped(experiment.recipe_text)));
  return out + run_digests(data) + file_digests(data) + "</section>\n";
}

}  // namespace acid
