#pragma once

#include "settings/run_settings.hpp"

namespace acid {

// For this folder alone: tables of a recipe, and what makes members of them. These throw
// nlohmann::json::exception and std::logic_error.

extern const FieldTable optimizer_table, execution_table;
/// Optimiser and schedule, but for Schedule::scale.
void read_optimizer(RunSettings& settings, const nlohmann::json& section, const Field& field);
/// Of so many workers.
ExecutionSettings execution_of(const nlohmann::json& section, int workers);

}  // namespace acid
