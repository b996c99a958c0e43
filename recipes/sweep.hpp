#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/fields.hpp"
#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"

namespace acid {

/// A dotted key and its value; value.key_place is the place of the key.
struct Assignment {
  std::string key;
  Node value;
};

/// All that one point of a sweep sets.
using SweepPoint = std::vector<Assignment>;

/// The keys of [sweep] besides the swept ones.
const FieldTable& sweep_keys();

/// The cartesian product of the lists, or ranges, of [sweep] and of each [[sweep.zip]] group, whose
/// lists vary together and have equal lengths; the first axis varies slowest. `sweep` may be
/// nullptr: one point that sets nothing. Keys may be dotted with or without quotes.
std::vector<SweepPoint> sweep_points(const Node* sweep, Diagnostics& diagnostics);

/// Random points in the place of all combinations.
struct Draws {
  std::size_t count = 0;
  std::uint64_t seed = 0;
};

/// So many different points of these keys, at each of which every key, or zipped group, has one of
/// its values: of a list or of a range with a count one value, of a range without a count a number
/// from all of it, by its logarithm or by itself. Point i of a key follows from the seed, the key
/// and i alone, so that algorithms that search the same range of a key draw the same numbers.
/// Points that have been drawn before are left out.
std::vector<SweepPoint> drawn_points(const Node& lists, const Draws& draws,
                                     Diagnostics& diagnostics);

/// The entries of an algorithm's `set`. A table at a key without dots is a section, so that
/// `optimizer.learning_rate = 0.1` needs no quotes; at a dotted key it is the value.
std::vector<Assignment> set_assignments(const Node& set);
/// Puts the values of an algorithm's `set` in the place of the point's; nullptr: it has no set.
/// Returns whether there were any: then the algorithm is the same at several points.
bool take_own_values(SweepPoint& point, const Node* set);

/// Sets each key below `root`. Problems are reported at the keys. `roots` are the sections that
/// keys may start with.
void apply_assignments(Node& root, const std::vector<Assignment>& assignments, Origin origin,
                       const std::vector<std::string>& roots, Diagnostics& diagnostics);

/// Reports so many runs if a recipe may not ask for them.
bool are_too_many(std::size_t runs, const Place& place, Diagnostics& diagnostics);

}  // namespace acid
