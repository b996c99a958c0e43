#include "reports/html/looks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <set>

#include "reports/html/svg.hpp"

namespace acid {
namespace {

/// FNV-1a, begun such that the methods most often compared have eight different colours, the
/// all-reduce baseline ink.
int preferred_colour(std::string_view label) {
  constexpr std::uint64_t kBegin = 14695981039346656037ULL ^ 2954725ULL;
  std::uint64_t hash = kBegin;
  for (const char c : label) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return static_cast<int>((hash >> 32) % kColours);
}

}  // namespace

std::vector<int> styles_of_labels(const std::vector<std::string>& labels) {
  const std::set<std::string> sorted(labels.begin(), labels.end());
  std::map<std::string, int> styles;
  std::set<int> taken;
  for (const std::string& label : sorted)
    if (const int colour = preferred_colour(label); taken.insert(colour).second)
      styles[label] = colour;
  for (const std::string& label : sorted) {
    if (styles.contains(label)) continue;
    // Free colours first, then the same colours with other dashes and markers.
    const int colour = preferred_colour(label);
    int tried = 0;
    const auto style = [&] {
      return (tried / kColours * kColours + (colour + tried) % kColours) % kStyles;
    };
    while (tried + 1 < kStyles && taken.contains(style())) ++tried;
    taken.insert(style());
    styles[label] = style();
  }
  std::vector<int> result;
  for (const std::string& label : labels) result.push_back(styles.at(label));
  return result;
}

std::string style_rules() {
  std::string rules;
  for (int k = 0; k < kColours; ++k) {
    std::string of_colour, of_shape;
    for (int style = 0; style < kStyles; ++style) {
      if (colour_of(style) == k)
        of_colour += fmt::format("{}.s{}", of_colour.empty() ? "" : ",", style);
      if (shape_of(style) == k)
        of_shape += fmt::format("{}.mean.s{}", of_shape.empty() ? "" : ",", style);
    }
    rules += fmt::format("{}{{--c:var(--k{})}}\n", of_colour, k);
    if (const std::string_view dash = kDashes[static_cast<std::size_t>(k)]; !dash.empty())
      rules += fmt::format("{}{{stroke-dasharray:{}}}\n", of_shape, dash);
  }
  return rules;
}

std::string colour_rules(const std::array<std::string_view, kColours>& colours) {
  std::string rules;
  for (std::size_t k = 0; k < colours.size(); ++k) rules += fmt::format("--k{}:{};", k, colours[k]);
  return rules;
}

std::string draw_marker(int style, double x, double y, double radius) {
  return fmt::format(
      "<path class=\"mark s{}\" transform=\"translate({} {}) scale({:.3f})\" d=\"{}\"/>", style,
      svg_number(x), svg_number(y), radius / 100,
      kMarkers[static_cast<std::size_t>(shape_of(style))]);
}

}  // namespace acid
