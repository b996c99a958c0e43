#pragma once

#include "settings/run_settings.hpp"

namespace acid {

// For this folder alone.

/// The table [execution] of a recipe.
extern const FieldTable execution_table;
/// Its members, of so many workers. Throws nlohmann::json::exception and std::logic_error.
ExecutionSettings execution_of(const nlohmann::json& section, int workers);

}  // namespace acid
