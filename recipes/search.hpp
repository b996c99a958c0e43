#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/fields.hpp"
#include "recipes/diagnostics.hpp"
#include "recipes/plan.hpp"
#include "recipes/sweep.hpp"

namespace acid {

/// The table [search] of a recipe, as it is written.
struct SearchTable {
  std::vector<SweepPoint> points;  // of algorithms without a search of their own
  std::vector<std::uint64_t> seeds;
  std::string metric;  // empty: by the task
  Place place, metric_place;
};

/// Its keys but those that it varies, for the reference.
const FieldTable& search_keys();

/// Absent where the recipe has none. Its seeds must not be among those of the runs. Reports what is
/// wrong.
std::optional<SearchTable> read_search(const Node* search, std::span<const std::uint64_t> run_seeds,
                                       const Node* sweep, Diagnostics& diagnostics);

/// Points of an algorithm's own `search`, of settings and of its own keys.
std::vector<SweepPoint> own_search_points(const Node& search, Diagnostics& diagnostics);

/// Gives an algorithm at one setting the values of a point: keys of a section below `settings`, and
/// its own below `algorithm`. Reports keys that a search must not vary, since then runs would not
/// be comparable, and those that the algorithm's `set` has. Returns the keys as settings name them.
std::vector<std::string> apply_search_point(Node& settings, Node& algorithm,
                                            const SweepPoint& point,
                                            const std::vector<std::string>& sections,
                                            Diagnostics& diagnostics);

/// What a run of this task can be chosen by, where `asked` is empty the first of these; an empty
/// text after reporting why not.
std::string search_metric(const PlannedRun& run, const SearchTable& search,
                          Diagnostics& diagnostics);

}  // namespace acid
