#pragma once

#include <string>

#include "tests/cli/program.hpp"

namespace acid::test {

inline constexpr const char* kTask =
    "task.dataset = { kind = \"quadratic\", dimension = 16 }\noptimizer.learning_rate = 0.001\n";

/// The algorithm's among the predictions of `acid predict --json`.
inline nlohmann::json prediction(const nlohmann::json& document, const std::string& algorithm) {
  for (const auto& one : document["predictions"])
    if (one["algorithm"] == algorithm) return one;
  return {};
}

}  // namespace acid::test
