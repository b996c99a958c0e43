#pragma once

#include <optional>
#include <string>

#include "cli/recipe_options.hpp"

namespace acid {

struct CalibrateOptions {
  std::string name;               // of the machine; empty: none is measured
  std::optional<double> seconds;  // for all that is measured
  bool force = false;

  bool has_options() const { return seconds || force; }
  /// --calibrate, --seconds and --force.
  void add_to(CLI::App& command);
};

/// Has acid-worker measure this machine, or under the mpi driver the recipe's hosts, with the first
/// run of the recipe, and keeps the result as a machine file of that name.
void calibrate_machine(const CalibrateOptions& options, const RecipeOptions& recipe);

}  // namespace acid
