#include "recipes/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "engine/base/rng.hpp"
#include "engine/base/utf8.hpp"
#include "recipes/over.hpp"
#include "recipes/plan.hpp"
#include "recipes/ranges.hpp"
#include "recipes/refused_cells.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

constexpr Fields kSweepKeys = fields<Plan>({key_of<Plan>(
    "skip_inapplicable", FieldType::boolean, "false",
    "leave out an algorithm at settings that refuse it, such as a method on a graph "
    "that it is not for, and run the rest; plans and reports name what is left out")});

// One or several keys that vary together: an axis of the product.
struct Axis {
  std::vector<Assignment> keys;  // with lists of equal lengths, or one key with the range
  std::optional<Range> range;    // to draw from

  std::size_t size() const { return keys.front().value.children.size(); }
  // Value number k of every key.
  SweepPoint at(std::size_t k) const {
    SweepPoint point;
    for (const Assignment& list : keys) {
      point.push_back({list.key, list.value.children[k]});
      point.back().value.key_place = list.value.key_place;
    }
    return point;
  }
  // `share`: from 0 to below 1.
  SweepPoint drawn(double share) const {
    if (range) return {{keys.front().key, range->at(share)}};
    return at(static_cast<std::size_t>(share * static_cast<double>(size())));
  }
};

bool holds_swept(const Node& node) { return node.is_table() && !is_range(node); }

// A table of `set` that has settings; the value of a dotted key is no such table.
bool holds_settings(const Node& node) {
  return node.is_table() && node.key.find('.') == std::string::npos && !node.children.empty();
}

// Dotted key and value of each key below `table`, in the order written. `holds_more`: whether a
// node is no value, but holds more keys.
void flatten(const Node& table, const std::string& prefix, bool (*holds_more)(const Node&),
             std::vector<Assignment>& out) {
  for (const Node& child : table.children) {
    const std::string key = prefix.empty() ? child.key : prefix + "." + child.key;
    if (holds_more(child))
      flatten(child, key, holds_more, out);
    else
      out.push_back({key, child});
  }
}

bool is_first(const Assignment& swept, std::set<std::string>& seen, Diagnostics& diagnostics) {
  if (seen.insert(swept.key).second) return true;
  diagnostics.error(swept.value.key_place, fmt::format("'{}' is swept twice", clip(swept.key, 60)),
                    "keep one of the lists");
  return false;
}

// Replaces a range by the list of its values.
bool list_range(Assignment& swept, const Range& range, Diagnostics& diagnostics) {
  if (range.count()) {
    swept.value = range.values(*range.count());
    return true;
  }
  diagnostics.error(
      swept.value.place,
      fmt::format("the range of '{}' does not say how many numbers", clip(swept.key, 60)),
      "add count = 7, or another number; a search may draw from ranges: draws = 7 in [search]");
  return false;
}

bool check_list(Assignment& swept, std::set<std::string>& seen, Diagnostics& diagnostics) {
  if (is_range(swept.value)) {
    const std::optional<Range> range = read_range(swept.key, swept.value, diagnostics);
    if (!range || !list_range(swept, *range, diagnostics)) return false;
  }
  if (!swept.value.is_list() || swept.value.children.empty()) {
    const std::string found = swept.value.is_list() ? "an empty list" : describe(swept.value);
    diagnostics.error(swept.value.place,
                      fmt::format("'{}' needs a list of values to sweep over, not {}",
                                  clip(swept.key, 60), found),
                      "write the values in brackets: [4, 16], or a range: { log = [1e-3, 1], "
                      "count = 7 }");
    return false;
  }
  return is_first(swept, seen, diagnostics);
}

// `draws`: a range needs no count.
std::optional<Axis> axis_of(Assignment swept, bool draws, std::set<std::string>& seen,
                            Diagnostics& diagnostics) {
  if (draws && is_range(swept.value) && swept.value.find("count") == nullptr) {
    std::optional<Range> range = read_range(swept.key, swept.value, diagnostics);
    if (!range || !is_first(swept, seen, diagnostics)) return std::nullopt;
    return Axis{{std::move(swept)}, std::move(range)};
  }
  if (!check_list(swept, seen, diagnostics)) return std::nullopt;
  return Axis{{std::move(swept)}, {}};
}

std::optional<Axis> zip_axis(const Node& group, std::set<std::string>& seen,
                             Diagnostics& diagnostics) {
  if (!group.is_table()) {
    diagnostics.error(group.place,
                      fmt::format("sweep.zip must hold tables, not {}", describe(group)),
                      "write [[sweep.zip]] with one list per key");
    return std::nullopt;
  }
  std::vector<Assignment> lists;
  flatten(group, "", holds_swept, lists);
  bool good = true;
  for (Assignment& list : lists) {
    if (!check_list(list, seen, diagnostics)) {
      good = false;
    } else if (list.value.children.size() != lists[0].value.children.size() && good) {
      diagnostics.error(
          list.value.place,
          fmt::format("'{}' has {} values, '{}' has {}: keys that vary together need equally many",
                      clip(list.key, 60), list.value.children.size(), clip(lists[0].key, 60),
                      lists[0].value.children.size()),
          "give each key of this [[sweep.zip]] the same number of values");
      good = false;
    }
  }
  return good && !lists.empty() ? std::optional(Axis{std::move(lists), {}}) : std::nullopt;
}

std::vector<Axis> axes_of(const Node& sweep, bool draws, Diagnostics& diagnostics) {
  std::vector<Axis> axes;
  std::set<std::string> seen;
  for (const Node& child : sweep.children) {
    if (child.key == "zip") {
      if (!child.is_list()) {
        diagnostics.error(
            child.place, fmt::format("sweep.zip must be a list of tables, not {}", describe(child)),
            "write [[sweep.zip]], with two brackets");
        continue;
      }
      for (const Node& group : child.children)
        if (auto axis = zip_axis(group, seen, diagnostics)) axes.push_back(std::move(*axis));
      continue;
    }
    std::vector<Assignment> lists;
    if (holds_swept(child))
      flatten(child, child.key, holds_swept, lists);
    else
      lists.push_back({child.key, child});
    for (Assignment& list : lists)
      if (auto axis = axis_of(std::move(list), draws, seen, diagnostics))
        axes.push_back(std::move(*axis));
  }
  return axes;
}

// The first 64 bits of the text's digest.
std::uint64_t stream_key(const std::string& text) {
  constexpr int kHexadecimal = 16;
  return std::stoull(sha256_hex(text).substr(0, 16), nullptr, kHexadecimal);
}

}  // namespace

const FieldTable& sweep_keys() { return kTableOf<kSweepKeys>; }

std::vector<SweepPoint> sweep_points(const Node* sweep, Diagnostics& diagnostics) {
  std::vector<SweepPoint> points(1);
  if (sweep == nullptr) return points;
  if (!sweep->is_table()) {
    diagnostics.error(sweep->place, fmt::format("sweep must be a table, not {}", describe(*sweep)),
                      "write [sweep] with \"dotted.key\" = [values]");
    return points;
  }
  for (const Axis& axis : axes_of(*sweep, /*draws=*/false, diagnostics)) {
    if (points.size() * axis.size() > kMostPoints) {
      diagnostics.error(sweep->place, fmt::format("the sweep has more than {} points", kMostPoints),
                        "sweep fewer values, or let keys vary together with [[sweep.zip]]");
      return points;
    }
    std::vector<SweepPoint> product;
    for (const SweepPoint& point : points)
      for (std::size_t k = 0; k < axis.size(); ++k) {
        const SweepPoint values = axis.at(k);
        product.push_back(point);
        product.back().insert(product.back().end(), values.begin(), values.end());
      }
    points = std::move(product);
  }
  return points;
}

bool are_too_many(std::size_t runs, const Place& place, Diagnostics& diagnostics) {
  if (runs <= kMostPoints) return false;
  diagnostics.error(
      place,
      fmt::format("the recipe asks for {} runs, and may ask for {} at most", runs, kMostPoints),
      "sweep or search fewer values, or use fewer seeds or algorithms");
  return true;
}

std::vector<SweepPoint> drawn_points(const Node& lists, const Draws& draws,
                                     Diagnostics& diagnostics) {
  const std::vector<Axis> axes = axes_of(lists, /*draws=*/true, diagnostics);
  if (axes.empty()) return {};
  std::vector<std::uint64_t> streams;
  for (const Axis& axis : axes)
    streams.push_back(stream_key(fmt::format("search {} {}", draws.seed, axis.keys.front().key)));
  std::vector<SweepPoint> points;
  std::set<std::string> known;
  constexpr std::uint64_t kTries = 100;  // for each: enough for all of a thousand combinations
  for (std::uint64_t i = 0; points.size() < draws.count && i < kTries * draws.count; ++i) {
    SweepPoint point;
    for (std::size_t k = 0; k < axes.size(); ++k) {
      const SweepPoint values = axes[k].drawn(Stream(streams[k], i).uniform());
      point.insert(point.end(), values.begin(), values.end());
    }
    if (known.insert(settings_of(point).dump()).second) points.push_back(std::move(point));
  }
  if (points.size() < draws.count)
    diagnostics.error(lists.place,
                      fmt::format("the search draws {}, and found only {} that differ", draws.count,
                                  points.size()),
                      "draw fewer, or give the keys more values");
  return points;
}

std::vector<Assignment> set_assignments(const Node& set) {
  std::vector<Assignment> assignments;
  flatten(set, "", holds_settings, assignments);
  return assignments;
}

bool take_own_values(SweepPoint& point, const Node* set) {
  bool any = false;
  if (set == nullptr || !set->is_table()) return any;
  for (const Assignment& own : set_assignments(*set))
    for (Assignment& swept : point)
      if (swept.key == own.key) {
        swept.value = own.value;
        any = true;
      }
  return any;
}

void apply_assignments(Node& root, const std::vector<Assignment>& assignments, Origin origin,
                       const std::vector<std::string>& roots, Diagnostics& diagnostics) {
  for (const Assignment& assignment : assignments) {
    const std::string first = split_path(assignment.key).front();
    if (std::find(roots.begin(), roots.end(), first) == roots.end()) {
      auto meant = whole_key(assignment.key);
      if (const auto nearest = nearest_name(first, roots); nearest && !meant)
        meant = *nearest + assignment.key.substr(first.size());
      diagnostics.error(
          assignment.value.key_place,
          fmt::format("'{}' is not a key of a run's settings", clip(assignment.key, 60)),
          meant ? fmt::format("did you mean '{}'?", *meant)
                : fmt::format("dotted keys start with {}", one_of(roots)));
    } else if (auto problem = assign(root, assignment.key, assignment.value, origin)) {
      diagnostics.error(assignment.value.key_place, std::move(*problem));
    }
  }
}

}  // namespace acid
