#include "recipes/ranges.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/base/utf8.hpp"
#include "recipes/checker.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

struct RangeTable {
  std::vector<double> log, linear;
  std::int64_t count = 0;
  bool whole = false;
};

constexpr Fields kRangeKeys = fields<RangeTable>(
    {key<&RangeTable::log>("log", "null", "its ends: numbers with equal ratios between them")
         .said("two numbers above 0", "", "log = [1e-3, 1]"),
     key<&RangeTable::linear>("linear", "null", "its ends: numbers with equal steps between them")
         .said("two numbers", "", "linear = [0.0, 0.9]"),
     key<&RangeTable::count>("count", "null", "how many numbers, the ends among them",
                             at_least(2).at_most(kMostPoints))
         .said("", "", "count = 7"),
     key<&RangeTable::whole>("whole", "false", "round them to whole numbers")});

/// Six significant digits, by the same digits on every machine.
double rounded(double value) { return nlohmann::json::parse(fmt::format("{:.5e}", value)); }

/// Reports ends that bound no numbers.
bool are_ends(const Node& ends, const std::string& key, bool is_log, Diagnostics& out) {
  const char* const remedy = is_log ? "write the smaller number first: { log = [1e-3, 1], … }"
                                    : "write the smaller number first: { linear = [0, 1], … }";
  const auto refuse = [&](const Place& place, const std::string& what) {
    out.error(place, fmt::format("the range of '{}' {}", clip(key, 60), what), remedy);
    return false;
  };
  if (ends.children.size() != 2)
    return refuse(ends.place, fmt::format("needs two ends, not {}", ends.children.size()));
  const double low = ends.children[0].scalar.get<double>();
  const double high = ends.children[1].scalar.get<double>();
  if (is_log && low <= 0)
    return refuse(ends.children[0].place,
                  fmt::format("has equal ratios, and begins at {}, which is not above 0", low));
  if (!std::isfinite(is_log ? high / low : high - low))
    return refuse(ends.place, fmt::format("is too wide: from {} to {}", low, high));
  if (low >= high) return refuse(ends.place, fmt::format("begins at {} and ends at {}", low, high));
  return true;
}

}  // namespace

const FieldTable& range_keys() { return kTableOf<kRangeKeys>; }

bool is_range(const Node& node) {
  return node.is_table() && (node.find("log") != nullptr || node.find("linear") != nullptr);
}

std::optional<Range> read_range(const std::string& key, const Node& node, Diagnostics& out) {
  const int before = out.reported();
  const nlohmann::json checked = Checker(out, {}).table(&node, clip(key, 60), range_keys());
  const Node *const log = node.find("log"), *const linear = node.find("linear");
  if (log != nullptr && linear != nullptr)
    out.error(linear->key_place,
              fmt::format("the range of '{}' has equal ratios and equal steps", clip(key, 60)),
              "keep one of log and linear");
  if (out.reported() > before) return std::nullopt;
  RangeTable table;
  kRangeKeys.fill(table, checked);
  Range range;
  range.node_ = node;
  range.is_log_ = log != nullptr;
  range.whole_ = table.whole;
  if (table.count > 0) range.count_ = static_cast<std::size_t>(table.count);
  const Node& ends = range.is_log_ ? *log : *linear;
  if (!are_ends(ends, key, range.is_log_, out)) return std::nullopt;
  range.low_ = ends.children[0];
  range.high_ = ends.children[1];
  for (const Node& end : ends.children)
    if (range.whole_ && end.type != Node::Type::integer)
      out.error(end.place,
                fmt::format("the range of '{}' has whole numbers, and an end at {}", clip(key, 60),
                            end.scalar.get<double>()),
                "write ends without a point, or remove whole");
  if (out.reported() > before) return std::nullopt;
  if (!range.count_) return range;
  const Node values = range.values(*range.count_);
  if (std::ranges::adjacent_find(values.children, {}, &Node::scalar) == values.children.end())
    return range;
  out.error(node.place,
            fmt::format("the range of '{}' has no {} different {}", clip(key, 60), *range.count_,
                        range.whole_ ? "whole numbers" : "numbers of six digits"),
            "ask for fewer, or move its ends apart");
  return std::nullopt;
}

Node Range::at(double share) const {
  Node number = share <= 0 ? low_ : share >= 1 ? high_ : Node{};
  number.key = node_.key;
  number.key_place = node_.key_place;
  number.place = node_.place;
  number.origin = node_.origin;
  if (share <= 0 || share >= 1) return number;
  const double low = low_.scalar.get<double>(), high = high_.scalar.get<double>();
  double value = is_log_ ? low * std::pow(high / low, share) : low + (high - low) * share;
  constexpr double kNothing = 1e-12;  // what rounding leaves of 0
  if (std::abs(value) < kNothing * std::max(std::abs(low), std::abs(high)) && !is_log_) value = 0;
  value = whole_ ? std::round(value) : rounded(value);
  number.type = Node::Type::number;
  number.scalar = value;
  constexpr double kMostExact = 0x1p53;
  const bool as_integers = low_.type == Node::Type::integer && high_.type == Node::Type::integer;
  if (as_integers && value == std::round(value) && std::abs(value) <= kMostExact) {
    number.type = Node::Type::integer;
    number.scalar = static_cast<std::int64_t>(value);
  }
  return number;
}

Node Range::values(std::size_t count) const {
  Node list = node_;
  list.type = Node::Type::list;
  list.children.clear();
  for (std::size_t k = 0; k < count; ++k)
    list.children.push_back(at(static_cast<double>(k) / static_cast<double>(count - 1)));
  return list;
}

}  // namespace acid
