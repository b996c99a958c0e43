#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/fields.hpp"
#include "recipes/checker.hpp"
#include "recipes/diagnostics.hpp"
#include "recipes/plan.hpp"
#include "recipes/sweep.hpp"

namespace acid {

/// The table [search] of a recipe.
struct SearchTable {
  std::vector<SweepPoint> points;  // for algorithms without their own search
  std::vector<std::uint64_t> seeds;
  std::string metric;  // empty: the task's default
  std::optional<std::int64_t> draws;
  std::int64_t draw_seed = 0;
  std::optional<std::int64_t> halving, rungs;
  Place place, metric_place, halving_place;
};

/// Its keys for the reference, without the varied ones.
const FieldTable& search_keys();

/// Absent if the recipe has none. Reports mistakes, such as seeds that the runs have too.
std::optional<SearchTable> read_search(const Node* search, std::span<const std::uint64_t> run_seeds,
                                       const Node* sweep, Checker& checker);

/// The rungs of a search over so many values; a grid is one. A rung in which one value is left
/// decides nothing and is none. Unless the recipe says how many, as few as take at most half of the
/// grid's gradients: runs are then as long as they can be. Reports rungs for which there are too
/// few values, and then has none.
std::vector<PlannedSearch::Rung> rungs_of(const SearchTable& search, std::size_t values,
                                          Diagnostics& diagnostics);

/// The points of an algorithm's own `search`, over settings and its own keys: as many draws as
/// `table` has, if it draws.
std::vector<SweepPoint> own_search_points(const Node& search, const SearchTable& table,
                                          Diagnostics& diagnostics);

/// Gives an algorithm at one setting the values of a point: keys of sections in `settings`, its own
/// in `algorithm`. Reports keys that would make runs incomparable, and keys that the algorithm's
/// `set` has. Returns the keys as settings name them.
std::vector<std::string> apply_search_point(Node& settings, Node& algorithm,
                                            const SweepPoint& point,
                                            const std::vector<std::string>& sections,
                                            Diagnostics& diagnostics);

/// The metric to choose by: search.metric, or the task's default if that is empty. Empty after
/// reporting that this run cannot have it.
std::string search_metric(const PlannedRun& run, const SearchTable& search,
                          Diagnostics& diagnostics);

}  // namespace acid
