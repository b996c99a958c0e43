#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "recipes/plan.hpp"

namespace CLI {
class App;
}

namespace acid {

/// The recipe on a command line and its overrides.
struct RecipeOptions {
  std::string path;
  std::vector<std::string> overrides;  // --set, as given
  std::string driver;                  // --driver; empty: the recipe's
  std::string copy_of;                 // --copy-of; empty: not a copy

  /// RECIPE, --set, --copy-of and, unless the command chooses it, --driver.
  void add_to(CLI::App& command, bool with_driver = true);
  /// Throws RecipeError or UsageError. `over`: as for compile_recipe().
  Plan compile(const OverAxis* over = nullptr) const;
  /// With these overrides after its own, which choose the driver (CompileWith of
  /// cli/predict/before.hpp).
  Plan compile_with(const std::vector<std::string>& more) const;
};

/// --set.
void add_overrides_option(CLI::App& command, std::vector<std::string>& overrides);
/// --jobs, with this help.
void add_jobs_option(CLI::App& command, std::size_t& jobs, const std::string& help);

/// Prints on standard error the recipe's doubtful spots and its runs' warnings, each once.
void say_doubts(const Plan& plan);
/// Prints on standard error the recipe's doubtful spots, its runs' warnings, each once, and whether
/// its seeds are too few for any verdict.
void say_warnings(const Plan& plan);

}  // namespace acid
