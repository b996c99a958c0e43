#pragma once

#include "settings/run_settings.hpp"

namespace acid {

// For this folder only: tables of a recipe and the functions that read them, which throw
// nlohmann::json::exception and std::logic_error.

extern const FieldTable optimizer_table, execution_table;
/// Reads optimiser and schedule, without Schedule::scale.
void read_optimizer(RunSettings& settings, const nlohmann::json& section, const Field& field);
/// Reads the section for a run of so many workers.
ExecutionSettings execution_of(const nlohmann::json& section, int workers);

}  // namespace acid
