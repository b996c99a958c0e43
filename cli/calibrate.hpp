#pragma once

#include <nlohmann/json.hpp>
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

/// Has acid-worker compute gradients of a run with these settings for about so long, with so many
/// workers at once on this machine. Returns the mean duration of one. Throws Error, which says why,
/// when nothing could be measured.
double probe_gradient_seconds(const nlohmann::json& settings, int workers, double seconds);

}  // namespace acid
