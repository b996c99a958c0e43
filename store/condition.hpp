#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// What a condition on runs can name.
struct ConditionNames {
  std::vector<std::string> columns;             // of the view run_list
  std::set<std::string, std::less<>> sections;  // "workers": what the keys of settings begin with
};

/// A condition on runs as SQL can answer it.
struct RunCondition {
  std::string sql;                // an expression over run_list and, where names_graph, kGraphs
  std::vector<std::string> keys;  // dotted keys of settings that it names, "workers.count"
  bool names_graph = false;       // keys of the section kGraphSection are among them
  bool names_role = false;        // it names the column role
};

/// A run without that section has nothing to do with a graph, and stands beside those of every
/// graph: its keys are looked up in the column kGraph instead, where that is not NULL.
inline constexpr std::string_view kGraphSection = "topology";
inline constexpr std::string_view kGraphs = "graphs_of_all", kGraph = "graph_of_all";

/// The language of `--where`: one SQL expression over the columns of run_list, in which
/// - dotted keys of settings are names too, workers.count or algorithm.codec.kind: NULL where a run
///   has no such setting, 'none' for an empty list or table, lists as JSON;
/// - what a name is compared with by = == != <> IS IN LIKE or GLOB may be a bare word, which is
///   text: beside a setting always, topology.kind = ring; beside a column unless it names a column
///   itself; beside the column state where it is a state. Elsewhere, as after < or among the
///   arguments of a function, a word is a name.
/// What is no name, word or list is SQL's as it stands. UsageError, as reject_condition() throws
/// it, where the text could be more than one expression.
RunCondition parse_condition(const std::string& text, const ConditionNames& names);

/// Where SQLite finds a dotted key in settings: $."workers"."count".
std::string json_path(std::string_view key);

/// UsageError that says why, and which columns there are. Without columns it is a formula over
/// settings alone (store/filter.hpp).
[[noreturn]] void reject_condition(const std::string& text, const std::string& reason,
                                   const std::vector<std::string>& columns);

}  // namespace acid
