// acid compare --only-changed: the settings that differ.
#include "reports/compare_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "reports/report_table.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr int kDiffSchemaVersion = 1;
constexpr const char* kSeedKey = "seed";

std::vector<std::string> ids_of(const SettingsDiff::Column& column) {
  std::vector<std::string> ids;
  for (const RunSummary& run : column.runs) ids.push_back(run.id);
  return ids;
}

std::vector<SettingsDiff::Column> columns_of(const std::vector<RunSummary>& runs) {
  std::set<std::string> groups;
  for (const RunSummary& run : runs) groups.insert(run.group);
  std::vector<SettingsDiff::Column> columns;
  for (const RunSummary& run : runs) {
    auto column = std::ranges::find(columns, run.group, &SettingsDiff::Column::group);
    if (column == columns.end() || groups.size() == 1)
      column = columns.insert(columns.end(), {"", "", run.group, {}});
    column->runs.push_back(run);
  }
  return columns;
}

/// Digits of their first run's id that tell the columns apart.
std::size_t digits_needed(const std::vector<SettingsDiff::Column>& columns) {
  constexpr std::size_t kUsual = 8;
  std::set<std::string> starts;
  for (const SettingsDiff::Column& column : columns)
    starts.insert(column.runs.front().id.substr(0, kUsual));
  return starts.size() == columns.size() ? kUsual : std::string::npos;
}

void name_columns(std::vector<SettingsDiff::Column>& columns) {
  std::map<std::string, int> labels, seeds;
  const auto with_seed = [](const SettingsDiff::Column& column) {
    return fmt::format("{} seed {}", column.label, column.runs.front().seed);
  };
  for (SettingsDiff::Column& column : columns) {
    const RunSummary& run = column.runs.front();
    column.label = run.label.empty() ? run.algorithm : run.label;
    ++labels[column.label];
    ++seeds[with_seed(column)];
  }
  const bool one_group = columns.size() > 1 && columns[0].group == columns[1].group;
  const std::size_t digits = digits_needed(columns);
  for (SettingsDiff::Column& column : columns)
    if (labels[column.label] == 1)
      column.title = column.label;
    else if (one_group && seeds[with_seed(column)] == 1)
      column.title = with_seed(column);
    else
      column.title = fmt::format("{} {}", column.label, column.runs.front().id.substr(0, digits));
}

/// Values by key, in the order shown, that are not settings.
using Facts = std::vector<std::pair<std::string, nlohmann::json>>;

nlohmann::json fact(const nlohmann::json& environment, const char* key) {
  return environment.is_object() && environment.contains(key) ? environment.at(key)
                                                              : nlohmann::json();
}

Facts facts_of(const Store& store, const RunSummary& run) {
  const ExperimentRecord experiment = experiment_of(store, run.experiment);
  const std::vector<AttemptRow> attempts = run_detail(store, run.id).attempts;
  const nlohmann::json environment =
      attempts.empty() ? nlohmann::json() : attempts.back().environment;
  nlohmann::json commit = fact(environment, "git_commit");
  const nlohmann::json dirty = fact(environment, "git_dirty");
  if (commit.is_string() && dirty.is_boolean() && dirty.get<bool>())
    commit = commit.get<std::string>() +
             ", changed: " + value_text(fact(environment, "git_diff_sha256")).substr(0, 12);
  return {{"experiment", experiment.id.empty() ? nlohmann::json()
                                               : nlohmann::json(fmt::format(
                                                     "{} {}", experiment.name, experiment.id))},
          {"overrides", fmt::format("{}", fmt::join(experiment.overrides, " "))},
          {"acid.version", fact(environment, "acid_version")},
          {"acid.commit", commit},
          {"host", fact(environment, "host")},
          {"cpu", fact(environment, "cpu_model")}};
}

/// One value if all have the same, else the list of their values.
nlohmann::json merged(const std::vector<nlohmann::json>& values) {
  nlohmann::json distinct = nlohmann::json::array();
  for (const nlohmann::json& value : values)
    if (std::find(distinct.begin(), distinct.end(), value) == distinct.end())
      distinct.push_back(value);
  return distinct.size() == 1 ? distinct.front() : distinct;
}

bool differs(const SettingsDiff::Row& row) {
  return std::ranges::adjacent_find(row.values, std::not_equal_to<>()) != row.values.end() ||
         (row.environment && std::ranges::any_of(row.values, &nlohmann::json::is_array));
}

void add_settings(SettingsDiff& diff, const Store& store) {
  std::vector<FlatSettings> flat;
  for (const SettingsDiff::Column& column : diff.columns) {
    nlohmann::json settings = run_settings(store, {column.runs.front().id}).front();
    if (column.runs.size() > 1) settings.erase(kSeedKey);
    flat.push_back(flatten(settings));
  }
  const bool seeds = std::ranges::all_of(
      flat, [](const FlatSettings& settings) { return settings.contains(kSeedKey); });
  for (const std::string& key : varying_keys(flat)) {
    if (key == kSeedKey && !seeds) continue;
    SettingsDiff::Row row{key, false, {}};
    for (const FlatSettings& settings : flat) row.values.push_back(value_at(settings, key));
    diff.rows.push_back(std::move(row));
  }
}

void add_environment(SettingsDiff& diff, const Store& store) {
  std::vector<SettingsDiff::Row> rows;
  for (const SettingsDiff::Column& column : diff.columns) {
    std::vector<Facts> facts;
    for (const RunSummary& run : column.runs) facts.push_back(facts_of(store, run));
    for (std::size_t k = 0; k < facts.front().size(); ++k) {
      if (rows.size() == k) rows.push_back({facts.front()[k].first, true, {}});
      std::vector<nlohmann::json> values;
      for (const Facts& one : facts) values.push_back(one[k].second);
      rows[k].values.push_back(merged(values));
    }
  }
  for (SettingsDiff::Row& row : rows)
    if (differs(row)) diff.rows.push_back(std::move(row));
}

/// Exact, so that different values look different.
std::string text_of_value(const SettingsDiff::Row& row, const nlohmann::json& value) {
  if (value.is_string() && value.get<std::string>().empty()) return "none";
  if (value.is_null()) return value_text(value);
  if (!row.environment || !value.is_array()) return exact_text(value);
  std::string text;
  for (const nlohmann::json& one : value)
    text += fmt::format("{}{}", text.empty() ? "" : " | ", text_of_value(row, one));
  return text;
}

std::string row_name(const SettingsDiff::Row& row) {
  return row.environment ? row.key + " (environment)" : row.key;
}

ReportTable diff_table(const SettingsDiff& diff, std::string first_head) {
  const auto column = [](std::string head) {
    return ReportColumn{{{std::move(head)}}, TextTable::Align::left, {}};
  };
  ReportTable table{{column(std::move(first_head))}};
  for (const auto& one : diff.columns) table.columns.push_back(column(one.title));
  for (const SettingsDiff::Row& row : diff.rows) {
    table.columns.front().cells.push_back({row_name(row)});
    for (std::size_t c = 0; c < row.values.size(); ++c)
      table.columns[1 + c].cells.push_back({text_of_value(row, row.values[c])});
  }
  return table;
}

/// The names of these columns: a label alone means all columns that have it.
std::string holders_text(const SettingsDiff& diff, const std::vector<std::size_t>& holders) {
  std::map<std::string, std::size_t> all, held;
  for (const SettingsDiff::Column& column : diff.columns) ++all[column.label];
  for (const std::size_t c : holders) ++held[diff.columns[c].label];
  std::vector<std::string> names;
  for (const std::size_t c : holders) {
    const SettingsDiff::Column& column = diff.columns[c];
    const std::size_t of = all[column.label];
    const std::string name = held[column.label] < of ? column.title
                             : of == 1               ? column.label
                                                     : fmt::format("{} (all {})", column.label, of);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// For each key its values, most frequent first, and the columns that have them.
std::string diff_blocks(const SettingsDiff& diff, const TextLines& lines, const Ink& ink) {
  std::string text;
  for (const SettingsDiff::Row& row : diff.rows) {
    std::vector<std::pair<std::string, std::vector<std::size_t>>> values;
    for (std::size_t c = 0; c < diff.columns.size(); ++c) {
      const std::string value = text_of_value(row, row.values[c]);
      auto same = std::ranges::find(values, value, [](const auto& one) { return one.first; });
      if (same == values.end()) same = values.insert(same, {value, {}});
      same->second.push_back(c);
    }
    std::ranges::stable_sort(values, std::greater<>(),
                             [](const auto& one) { return one.second.size(); });
    text += ink.bold(row_name(row)) + "\n";
    for (const auto& [value, holders] : values)
      text += "  " +
              wrapped(fmt::format("{}   {}", value, holders_text(diff, holders)), lines.columns - 2,
                      "      ") +
              "\n";
  }
  return text;
}

std::string nothing_differs(const SettingsDiff& diff) {
  std::size_t runs = 0;
  for (const SettingsDiff::Column& column : diff.columns) runs += column.runs.size();
  if (runs == 1) return "one run alone differs from nothing: name another\n";
  return fmt::format(
      "nothing differs between these {} runs{}: same settings, same acid, same machine\n", runs,
      diff.columns.size() == 1 || runs > diff.columns.size() ? " but their seeds" : "");
}

}  // namespace

SettingsDiff diff_settings(const Store& store, const AskedRuns& asked) {
  if (asked.ids.empty())
    throw UsageError("there are no runs to compare; name some, or run a recipe");
  SettingsDiff diff;
  diff.columns = columns_of(runs_as_asked(store, asked));
  name_columns(diff.columns);
  add_settings(diff, store);
  add_environment(diff, store);
  return diff;
}

std::string to_text(const SettingsDiff& diff, bool colour, const TextLines& lines) {
  if (diff.rows.empty()) return nothing_differs(diff);
  const TextTable table = text_table(diff_table(diff, ""), lines, "");
  if (table.fits_whole()) return table.str();
  return diff_blocks(diff, lines, {colour});
}

nlohmann::json to_json(const SettingsDiff& diff) {
  nlohmann::json document{{"schema_version", kDiffSchemaVersion},
                          {"columns", nlohmann::json::array()},
                          {"changed", nlohmann::json::array()}};
  for (const SettingsDiff::Column& column : diff.columns) {
    const RunSummary& first = column.runs.front();
    nlohmann::json object{{"title", column.title},
                          {"group", column.group},
                          {"algorithm", first.algorithm},
                          {"label", first.label.empty() ? first.algorithm : first.label},
                          {"experiment", first.experiment},
                          {"runs", ids_of(column)},
                          {"seeds", nlohmann::json::array()},
                          {"states", nlohmann::json::array()}};
    for (const RunSummary& run : column.runs) {
      object["seeds"].push_back(run.seed);
      object["states"].push_back(state_name(run.state));
    }
    document["columns"].push_back(std::move(object));
  }
  for (const SettingsDiff::Row& row : diff.rows)
    document["changed"].push_back(
        {{"key", row.key}, {"environment", row.environment}, {"values", row.values}});
  return document;
}

std::string to_csv(const SettingsDiff& diff) {
  std::vector<std::string> header{"key", "kind"};
  for (const auto& column : diff.columns) header.push_back(column.title);
  std::string text = csv_line(header);
  for (const SettingsDiff::Row& row : diff.rows) {
    std::vector<std::string> fields{row.key, row.environment ? "environment" : "setting"};
    for (const auto& value : row.values)
      fields.push_back(value.is_null() || value == "" ? "" : text_of_value(row, value));
    text += csv_line(fields);
  }
  return text;
}

std::string to_markdown(const SettingsDiff& diff) {
  if (diff.rows.empty()) return nothing_differs(diff);
  return markdown_table(diff_table(diff, "setting"));
}

}  // namespace acid
