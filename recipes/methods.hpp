#pragma once

#include <set>
#include <string>
#include <vector>

#include "recipes/checker.hpp"

namespace acid {

struct AlgorithmEntry;

/// The methods that a recipe lists itself: `list` is its [[methods]], each a listing or { file = …
/// } that names a file of listings; nullptr: it lists none. What is wrong is reported at its place.
/// `broken` ← the names of those.
std::vector<const AlgorithmEntry*> recipe_methods(const Node* list, Checker& checker,
                                                  std::set<std::string>& broken);

/// Those of a recipe's file, whatever else is in it. Throws RecipeError, or UsageError where it
/// cannot be read.
std::vector<const AlgorithmEntry*> methods_of_recipe(const std::string& path);

}  // namespace acid
