#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/terminal/table.hpp"
#include "store/queries.hpp"

namespace acid {

/// A run in sections for a terminal: outcome and verification, results, pace of gossip, settings
/// (all or, with `changed`, those that differ from the defaults), attempts, checkpoints,
/// environment, digests, and the last lines of its log.
std::string to_text(const RunDetail& run, bool changed);

/// The numbers of a graph that changes (document_of() of engine/topology), in lines that begin with
/// two blanks.
std::string text_of_schedule(const nlohmann::json& schedule);

/// A table with a row for each run.
Table run_table(const Store& store, const std::vector<RunSummary>& runs);

}  // namespace acid
