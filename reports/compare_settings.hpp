#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/text_table.hpp"
#include "store/queries.hpp"

namespace acid {

/// The differences between runs of any experiments, finished or not. Runs that differ only in their
/// seed share a column; if all runs do, each has its own.
struct SettingsDiff {
  struct Column {
    std::string label;
    std::string title;  // the label and, if several columns have it, what distinguishes them
    std::string group;  // digest
    std::vector<RunSummary> runs;
  };
  struct Row {
    std::string key;  // dotted
    /// Whether this is about the place and the version: experiment, overrides, acid.version,
    /// acid.commit, host, cpu; of the newest attempt, null if there is none. Not a setting: two
    /// runs that differ only here should give the same numbers.
    bool environment = false;
    std::vector<nlohmann::json> values;  // parallel to columns; null where there is none
  };
  std::vector<Column> columns;
  std::vector<Row> rows;  // settings by key, then the environment; every one has several values
};

/// In an environment row, a column whose runs differ has a list of their values. UsageError for no
/// runs.
SettingsDiff diff_settings(const Store& store, const AskedRuns& asked);

/// A table or, if the lines are too short for it, for each key its values and who has them. One
/// line if nothing differs. Values are exact and never cut.
std::string to_text(const SettingsDiff& diff, bool colour, const TextLines& lines = {});
/// {"schema_version", "columns": [{"title", "group", "algorithm", "label", "experiment", "runs":
/// [id], "seeds": [seed], "states": [state]}], "changed": [{"key", "environment", "values":
/// [value]}]}; values parallel to columns.
nlohmann::json to_json(const SettingsDiff& diff);
/// key, kind ("setting" or "environment"), and a column per group or run.
std::string to_csv(const SettingsDiff& diff);
std::string to_markdown(const SettingsDiff& diff);

}  // namespace acid
