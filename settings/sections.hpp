#pragma once

#include "settings/run_settings.hpp"

namespace acid {

// For this folder alone: JSON sections → members. They throw nlohmann::json::exception and
// std::logic_error.

ExecutionSettings execution_of(const nlohmann::json& section, int workers);

template <class T>
std::optional<T> optional_of(const nlohmann::json& value) {
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

}  // namespace acid
