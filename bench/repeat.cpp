#include "bench/repeat.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace acid::bench {

std::string parameters_text(std::size_t size) {
  const auto count = static_cast<double>(size);
  if (count >= 1e5) return fmt::format("{:.3g} M parameters", count / 1e6);
  return fmt::format("{} parameters", size);
}

std::shared_ptr<int> add_gradients_option(CLI::App& app, int gradients) {
  const auto wanted = std::make_shared<int>(gradients);
  app.add_option("--gradients", *wanted, "Of a run")
      ->capture_default_str()
      ->check(CLI::Range(64, 1 << 30));
  return wanted;
}

std::shared_ptr<std::vector<std::size_t>> add_parameters_option(CLI::App& app,
                                                                std::vector<std::size_t> sizes) {
  const auto wanted = std::make_shared<std::vector<std::size_t>>(std::move(sizes));
  app.add_option("--parameters", *wanted, "How long the vectors are")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  // CLI11 fills the vector while it parses, before it is read.
  return wanted;
}

}  // namespace acid::bench
