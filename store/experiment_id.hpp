#pragma once

#include <string>
#include <vector>

#include "store/store.hpp"

namespace acid {

/// The id under which the store keeps an experiment of runs with these digests, which its recipe
/// compiles to now, or with `of_search` those that its search tries first: the record's, unless
/// that stands for other runs, as after a change of a file that the recipe reads; then one of
/// recipe and runs. Runs that were removed since do not matter.
std::string id_in(const Store& store, const ExperimentRecord& experiment,
                  const std::vector<std::string>& digests, bool of_search);

}  // namespace acid
