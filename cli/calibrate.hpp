#pragma once

#include <string>

#include "cli/recipe_options.hpp"
#include "cli/terminal/session.hpp"

namespace acid {

struct CalibrateOptions {
  std::string name;
  RecipeOptions recipe;
  double seconds = 60;  // for gradients; messages and costs take a few more
  bool force = false;
};

/// Has acid-worker measure this machine, or under the mpi driver the recipe's hosts, with the first
/// run of the recipe, and keeps the result as a machine file of that name.
Exit calibrate_machine(const CalibrateOptions& options);

/// `acid machines calibrate`.
void add_calibrate_command(CLI::App& machines, Session& session);

}  // namespace acid
