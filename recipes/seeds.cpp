#include "recipes/seeds.hpp"

#include <fmt/format.h>

#include <charconv>
#include <unordered_set>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"

namespace acid {
namespace {

constexpr std::size_t kLongestShown = 40;

std::string quoted(std::string_view part) {
  return fmt::format("'{}'", clip(std::string(part), kLongestShown));
}

std::uint64_t whole_number(std::string_view text, std::string_view part) {
  const std::string_view digits = trimmed(text);
  // Recipes and the store hold whole numbers of 64 bits with a sign.
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || number < 0)
    throw UsageError(fmt::format(
        "{} is neither a seed, a whole number from 0, nor a range of seeds as 1-30", quoted(part)));
  return static_cast<std::uint64_t>(number);
}

void add_part(std::vector<std::uint64_t>& seeds, std::string_view part) {
  const std::size_t dash = part.find('-');
  const bool is_range = dash != std::string_view::npos && dash > 0;
  const std::uint64_t first = whole_number(is_range ? part.substr(0, dash) : part, part);
  const std::uint64_t last = is_range ? whole_number(part.substr(dash + 1), part) : first;
  if (last < first)
    throw UsageError(
        fmt::format("the range of seeds {} goes down; write {}-{}", quoted(part), last, first));
  if (last - first >= kMostSeeds - seeds.size())
    throw UsageError(fmt::format("{} makes more than {} seeds", quoted(part), kMostSeeds));
  for (std::uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
}

}  // namespace

std::vector<std::uint64_t> seeds_of(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  for (const std::string_view part : split_at(text, ',')) add_part(seeds, trimmed(part));
  return seeds;
}

std::vector<std::uint64_t> read_seeds(const Node& node, const std::string& remedy, Diagnostics& out,
                                      const std::function<std::string(std::uint64_t)>& refusal) {
  std::vector<std::uint64_t> seeds;
  if (node.is_list() && node.children.empty()) out.error(node.place, "seeds is empty", remedy);
  std::unordered_set<std::uint64_t> seen;
  const auto take = [&](const Node& from, std::uint64_t seed) {
    const std::string wrong = refusal ? refusal(seed) : "";
    if (!wrong.empty())
      out.error(from.place, wrong, remedy);
    else if (!seen.insert(seed).second)
      out.error(from.place, fmt::format("seed {} is listed twice", seed), "list each seed once");
    else if (seeds.size() == kMostSeeds)
      out.error(from.place, fmt::format("these are more than {} seeds", kMostSeeds), remedy);
    else
      seeds.push_back(seed);
  };
  const auto read = [&](const Node& one) {
    if (one.is_text()) {
      try {
        for (const std::uint64_t seed : seeds_of(one.text())) take(one, seed);
      } catch (const UsageError& error) {
        out.error(one.place, error.what(), remedy);
      }
    } else if (one.type == Node::Type::integer && one.scalar.get<std::int64_t>() >= 0) {
      take(one, one.scalar.get<std::uint64_t>());
    } else {
      out.error(one.place,
                fmt::format("a seed must be a whole number from 0, not {}", describe(one)), remedy);
    }
  };
  if (!node.is_list())
    read(node);
  else
    for (const Node& one : node.children) read(one);
  return seeds;
}

}  // namespace acid
