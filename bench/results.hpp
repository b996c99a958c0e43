#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "bench/measurement.hpp"

namespace acid::bench {

/// A table for people: one line per row with medians, the ratio's range, the bound and whether it
/// was met; says so when there were too few rounds. Empty without rows.
std::string results_table(std::span<const Row> rows);

/// {"schema_version": 1, "machine": {"cpu_model", "cores", …}, "rounds", "rows": [{"command",
/// "what", "unit", "measured": {"min", "median", "max", "rounds": […]}, "peer": null or the same
/// with "what", "ratio": null or {"min", "median", "max"}, "wanted": null or {"of": "ratio" or
/// "value", "at_least" or "at_most": bound}, "met": true, false or null (a verdict needs at least 7
/// rounds), "cpu_seconds_per_gradient": {"measured", "peer", "ratio"}, each a number or null}]}
nlohmann::json results_json(std::span<const Row> rows, const Options& options);

}  // namespace acid::bench
