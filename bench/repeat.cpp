#include "bench/repeat.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace acid::bench {

std::string parameters_text(std::size_t size) {
  const auto count = static_cast<double>(size);
  if (count >= 1e5) return fmt::format("{:.3g} M parameters", count / 1e6);
  return fmt::format("{} parameters", size);
}

std::shared_ptr<std::vector<std::size_t>> add_parameters_option(CLI::App& app) {
  const auto sizes = std::make_shared<std::vector<std::size_t>>();
  *sizes = {670'000, 11'200'000};
  app.add_option("--parameters", *sizes, "How long the vectors are")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  // CLI11 fills the vector while it parses, before anybody reads it.
  return sizes;
}

}  // namespace acid::bench
