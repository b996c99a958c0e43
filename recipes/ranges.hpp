#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"

namespace acid {

struct FieldTable;

/// More values than this are a mistake, and so are more runs: a plan of so many takes a minute and
/// a gigabyte.
inline constexpr std::size_t kMostPoints = 10'000;

/// The numbers between two ends, { log = [1e-3, 1] } or { linear = [0, 1] }, that a sweep or a
/// search gives to a key instead of a list.
///
/// An end is the number as written. A number between the ends is rounded to six significant digits,
/// so that it, and the ids of its runs, are the same on every machine. It is a whole number in TOML
/// if it is one and both ends are written as such.
class Range {
 public:
  /// The number at this share, from 0 to 1, of the way from the low end to the high one.
  Node at(double share) const;
  /// How many numbers the recipe asks for; absent: it does not say.
  std::optional<std::size_t> count() const { return count_; }
  /// So many numbers in a list, with equal steps or equal ratios, and both ends.
  Node values(std::size_t count) const;

 private:
  friend std::optional<Range> read_range(const std::string& key, const Node& node,
                                         Diagnostics& diagnostics);
  Node node_;  // the table, for its places
  Node low_, high_;
  bool is_log_ = false, whole_ = false;
  std::optional<std::size_t> count_;
};

/// The keys of such a table, for the reference.
const FieldTable& range_keys();
/// Whether the value of a swept key is such a table, and not one of further keys.
bool is_range(const Node& node);
/// The range that a key has; nothing after reporting mistakes.
std::optional<Range> read_range(const std::string& key, const Node& node, Diagnostics& diagnostics);

}  // namespace acid
