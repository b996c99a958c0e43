#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "store/sqlite.hpp"

namespace acid {

/// Ids of the runs for which a person's SQL expression over the view run_list is true. `state` is
/// computed: a run in `dead` is interrupted. The expression can only read; UsageError when it is
/// not a single expression or SQLite rejects it.
std::unordered_set<std::string> runs_where(const sqlite::Connection& connection,
                                           const std::string& expression,
                                           const std::unordered_set<std::string>& dead);

}  // namespace acid
