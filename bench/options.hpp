#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>
#include <vector>

namespace acid::bench {

/// Adds an option of a command, of which help shows the fallback. CLI11 fills the returned value
/// while it parses the command line.
template <class Value>
std::shared_ptr<Value> add_option(CLI::App& app, const char* name, Value fallback, const char* help,
                                  const CLI::Validator& allowed = CLI::PositiveNumber) {
  const auto value = std::make_shared<Value>(std::move(fallback));
  app.add_option(name, *value, help)->capture_default_str()->check(allowed);
  return value;
}

/// --parameters, a list; by default the sizes of the budgets: 0.67 M, which fits into a cache, and
/// 11.2 M, which does not.
inline auto add_parameters_option(CLI::App& app,
                                  std::vector<std::size_t> sizes = {670'000, 11'200'000}) {
  return add_option(app, "--parameters", std::move(sizes), "How long the vectors are");
}

/// --gradients of a whole run.
inline std::shared_ptr<int> add_gradients_option(CLI::App& app) {
  return add_option(app, "--gradients", 4000, "Of a run", CLI::Range(64, 1 << 30));
}

}  // namespace acid::bench
