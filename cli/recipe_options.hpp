#pragma once

#include <string>
#include <vector>

#include "recipes/plan.hpp"

namespace CLI {
class App;
}

namespace acid {

/// The recipe of a command line and what it overrides.
struct RecipeOptions {
  std::string path;
  std::vector<std::string> overrides;  // --set, as given
  std::string driver;                  // --driver; empty: the recipe's
  std::string copy_of;                 // --copy-of; empty: it is no copy

  /// RECIPE, --set and --driver.
  void add_to(CLI::App& command);
  /// Throws RecipeError or UsageError.
  Plan compile() const;
};

/// The recipe's doubtful spots, its runs' warnings, each once, and whether its seeds are too few
/// for any verdict, on standard error.
void say_warnings(const Plan& plan);

}  // namespace acid
