#pragma once

#include <set>
#include <string>
#include <vector>

#include "recipes/checker.hpp"

namespace acid {

struct AlgorithmEntry;

/// The recipe's own methods. `list`: its [[methods]], each a listing or `file = "FILE"` with
/// listings; nullptr: none. Mistakes are reported at their places; `broken` ← the methods with any.
std::vector<const AlgorithmEntry*> recipe_methods(const Node* list, Checker& checker,
                                                  std::set<std::string>& broken);

/// The methods in a recipe's file, whose other sections are ignored, or in a file of listings: one
/// with neither [task] nor [[algorithms]]. Throws RecipeError, or UsageError if the file cannot be
/// read.
std::vector<const AlgorithmEntry*> methods_of_recipe(const std::string& path);

}  // namespace acid
