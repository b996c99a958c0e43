#include "engine/topology/components.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace acid {

std::vector<std::vector<int>> connected_components(int workers, std::span<const Edge> edges) {
  std::vector<int> parent(static_cast<std::size_t>(workers));
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&](int i) {
    auto at = static_cast<std::size_t>(i);
    while (parent[at] != static_cast<int>(at)) {
      parent[at] = parent[static_cast<std::size_t>(parent[at])];  // halves the path for the next
      at = static_cast<std::size_t>(parent[at]);
    }
    return static_cast<int>(at);
  };
  for (const Edge& edge : edges) {
    if (edge.weight == 0) continue;
    const auto [low, high] = std::minmax({root(edge.i), root(edge.j)});
    parent[static_cast<std::size_t>(high)] = low;  // a root is its component's first worker
  }
  std::vector<std::vector<int>> components;
  std::vector<std::size_t> component_of(parent.size());
  for (int i = 0; i < workers; ++i) {
    const int r = root(i);
    if (r == i) {
      component_of[static_cast<std::size_t>(i)] = components.size();
      components.emplace_back();
    }
    components[component_of[static_cast<std::size_t>(r)]].push_back(i);
  }
  return components;
}

std::string describe_components(const std::vector<std::vector<int>>& components) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t c = 0; c < std::min(components.size(), kShown); ++c) {
    const auto& members = components[c];
    const auto end =
        members.begin() + static_cast<std::ptrdiff_t>(std::min(members.size(), kShown));
    text += fmt::format("{}{{{}{}}}", c == 0 ? "" : ", ", fmt::join(members.begin(), end, ", "),
                        members.size() > kShown ? fmt::format(", … {}", members.back()) : "");
  }
  if (components.size() > kShown) text += fmt::format(" and {} more", components.size() - kShown);
  return text;
}

}  // namespace acid
