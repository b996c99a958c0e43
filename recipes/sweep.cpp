#include "recipes/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "recipes/plan.hpp"
#include "recipes/ranges.hpp"
#include "recipes/utf8.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

constexpr Fields kSweepKeys = fields<Plan>({key_of<Plan>(
    "skip_inapplicable", FieldType::boolean, "false",
    "leave out an algorithm at settings that refuse it, such as a method on a graph "
    "that it is not for, and run the rest; plans and reports name what is left out")});

// The values that one or several keys take together: an axis of the product.
using Axis = std::vector<SweepPoint>;

// Key and list, or range, of each swept key below `table`, in the order written.
void flatten(const Node& table, const std::string& prefix, std::vector<Assignment>& out) {
  for (const Node& child : table.children) {
    const std::string key = prefix.empty() ? child.key : prefix + "." + child.key;
    if (child.is_table() && !is_range(child))
      flatten(child, key, out);
    else
      out.push_back({key, child});
  }
}

// Replaces a range by the list of its values.
bool list_range(Assignment& swept, Diagnostics& diagnostics) {
  const std::optional<Range> range = read_range(swept.key, swept.value, diagnostics);
  if (!range) return false;
  if (range->count()) {
    swept.value = range->values(*range->count());
    return true;
  }
  diagnostics.error(
      swept.value.place,
      fmt::format("the range of '{}' does not say how many numbers", clip(swept.key, 60)),
      "add count = 7, or another number");
  return false;
}

bool check_list(Assignment& swept, std::set<std::string>& seen, Diagnostics& diagnostics) {
  if (is_range(swept.value) && !list_range(swept, diagnostics)) return false;
  if (!swept.value.is_list() || swept.value.children.empty()) {
    const std::string found = swept.value.is_list() ? "an empty list" : describe(swept.value);
    diagnostics.error(
        swept.value.place,
        fmt::format("'{}' needs a list of values to sweep over, not {}", clip(swept.key, 60),
                    found),
        "write the values in brackets: [4, 16], or a range: { log = [1e-3, 1], count = 7 }");
    return false;
  }
  if (!seen.insert(swept.key).second) {
    diagnostics.error(swept.value.key_place,
                      fmt::format("'{}' is swept twice", clip(swept.key, 60)),
                      "keep one of the lists");
    return false;
  }
  return true;
}

// Value number k of every key.
SweepPoint values_at(const std::vector<Assignment>& lists, std::size_t k) {
  SweepPoint point;
  for (const Assignment& list : lists) {
    point.push_back({list.key, list.value.children[k]});
    point.back().value.key_place = list.value.key_place;
  }
  return point;
}

Axis axis_of(const std::vector<Assignment>& lists) {
  Axis axis;
  for (std::size_t k = 0; !lists.empty() && k < lists[0].value.children.size(); ++k)
    axis.push_back(values_at(lists, k));
  return axis;
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
  flatten(group, "", lists);
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
  return good ? std::optional(axis_of(lists)) : std::nullopt;
}

std::vector<Axis> axes_of(const Node& sweep, Diagnostics& diagnostics) {
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
        if (auto axis = zip_axis(group, seen, diagnostics); axis && !axis->empty())
          axes.push_back(std::move(*axis));
      continue;
    }
    std::vector<Assignment> lists;
    if (child.is_table() && !is_range(child))
      flatten(child, child.key, lists);
    else
      lists.push_back({child.key, child});
    for (Assignment& list : lists)
      if (check_list(list, seen, diagnostics)) axes.push_back(axis_of({list}));
  }
  return axes;
}

void flatten_set(const Node& table, const std::string& prefix, std::vector<Assignment>& out) {
  for (const Node& child : table.children) {
    const std::string key = prefix.empty() ? child.key : prefix + "." + child.key;
    const bool dotted = child.key.find('.') != std::string::npos;
    if (child.is_table() && !dotted && !child.children.empty())
      flatten_set(child, key, out);
    else
      out.push_back({key, child});
  }
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
  for (const Axis& axis : axes_of(*sweep, diagnostics)) {
    if (points.size() * axis.size() > kMostPoints) {
      diagnostics.error(sweep->place, fmt::format("the sweep has more than {} points", kMostPoints),
                        "sweep fewer values, or let keys vary together with [[sweep.zip]]");
      return points;
    }
    std::vector<SweepPoint> product;
    for (const SweepPoint& point : points)
      for (const SweepPoint& values : axis) {
        product.push_back(point);
        product.back().insert(product.back().end(), values.begin(), values.end());
      }
    points = std::move(product);
  }
  return points;
}

std::vector<Assignment> set_assignments(const Node& set) {
  std::vector<Assignment> assignments;
  flatten_set(set, "", assignments);
  return assignments;
}

void apply_assignments(Node& root, const std::vector<Assignment>& assignments, Origin origin,
                       const std::vector<std::string>& roots, Diagnostics& diagnostics) {
  for (const Assignment& assignment : assignments) {
    const std::string first = split_path(assignment.key).front();
    if (std::find(roots.begin(), roots.end(), first) == roots.end()) {
      const auto nearest = nearest_name(first, roots);
      diagnostics.error(
          assignment.value.key_place,
          fmt::format("'{}' is not a key of a run's settings", clip(assignment.key, 60)),
          nearest
              ? fmt::format("did you mean '{}'?", *nearest + assignment.key.substr(first.size()))
              : fmt::format("dotted keys start with {}", one_of(roots)));
    } else if (auto problem = assign(root, assignment.key, assignment.value, origin)) {
      diagnostics.error(assignment.value.key_place, std::move(*problem));
    }
  }
}

}  // namespace acid
