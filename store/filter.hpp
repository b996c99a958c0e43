#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/sqlite.hpp"

namespace acid {

struct SeenRun;

/// Ids of the runs for which all of a person's conditions are true (store/condition.hpp). `state`
/// is the computed one: a run in `dead` is interrupted. `asked`: a JSON list of the ids of which
/// they are asked; nothing: of all runs. `seen`: in which experiments runs are shown (seen_runs());
/// others are in their newest. Conditions can read, and nothing else; UsageError when one is not a
/// single expression, names a setting that no run has, or is none that SQLite takes.
std::unordered_set<std::string> ids_where(const sqlite::Connection& connection,
                                          const std::vector<std::string>& conditions,
                                          const std::unordered_set<std::string>& dead,
                                          const std::optional<std::string>& asked,
                                          const std::unordered_map<std::string, SeenRun>& seen);

/// The number that an expression of the language of --where gives of one run's settings, such as
/// "2 * workers.count"; whole numbers divide as others do, 1 / 4 is 0.25. UsageError if it is none,
/// names another setting, or gives no number.
double number_of_settings(const std::string& expression, const nlohmann::json& settings);

}  // namespace acid
