#include "reports/drawing/looks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

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

/// The look of a role's shapes, in the words of CSS: var(--c) is the colour of its style, others
/// are those of kPageColours. Lengths are in the units of the shape's own coordinates.
struct Role {
  using Declaration = std::pair<std::string_view, std::string_view>;
  std::string_view name;
  std::vector<Declaration> declarations;
};

const std::vector<Role>& roles() {
  using Declaration = Role::Declaration;
  const auto fill = [](std::string_view value) { return Declaration{"fill", value}; };
  const auto stroke = [](std::string_view value) { return Declaration{"stroke", value}; };
  const auto width = [](std::string_view value) { return Declaration{"stroke-width", value}; };
  const auto dash = [](std::string_view value) { return Declaration{"stroke-dasharray", value}; };
  const auto opacity = [](std::string_view value) { return Declaration{"opacity", value}; };
  const auto size = [](std::string_view value) { return Declaration{"font-size", value}; };
  const Declaration bold{"font-weight", "600"}, round{"stroke-linejoin", "round"},
      tabular{"font-variant-numeric", "tabular-nums"};
  static const std::vector<Role> all = {
      {"text", {size("10.5px"), fill("var(--soft)"), tabular}},
      {"label", {fill("var(--c)"), bold, size("10.5px")}},
      {"heading", {fill("var(--ink)"), bold}},
      {"figures", {fill("var(--ink)")}},
      {"name", {fill("var(--soft)")}},
      {"node-name", {size("8.5px"), fill("var(--ink)")}},
      {"grid", {stroke("var(--rule)"), width(".8"), fill("none")}},
      {"axis", {stroke("var(--soft)"), width("1"), fill("none")}},
      {"zero", {stroke("var(--ink)"), width("1"), dash("2 3")}},
      {"mean", {stroke("var(--c)"), width("19"), fill("none"), round}},
      {"seed", {stroke("var(--c)"), width("7"), fill("none"), opacity(".3"), round}},
      {"band", {fill("var(--c)"), opacity(".13")}},
      {"cut", {stroke("var(--c)"), width("20"), fill("none"), dash("15 30")}},
      {"reference", {stroke("var(--c)"), width("9"), fill("none"), dash("36 30")}},
      {"lead", {stroke("var(--soft)"), width(".7"), fill("none"), dash("1 2")}},
      {"edge", {stroke("var(--soft)"), width(".9"), fill("none"), opacity(".75")}},
      {"node", {fill("var(--paper)"), stroke("var(--ink)"), width("1")}},
      {"bar", {fill("var(--c)")}},
      {"hollow", {fill("none"), stroke("var(--c)"), width("1")}},
      {"mark", {fill("var(--c)")}},
      {"whisker", {fill("none"), stroke("var(--c)"), width("1.5")}},
      {"span-compute", {fill("var(--c)"), opacity(".6")}},
      {"span-wait", {fill("none"), stroke("var(--soft)"), width("9")}},
      {"span-exchange", {fill("var(--ink)")}},
      {"h0", {fill("#00224e")}},
      {"h1", {fill("#123570")}},
      {"h2", {fill("#3b496c")}},
      {"h3", {fill("#575d6d")}},
      {"h4", {fill("#707173")}},
      {"h5", {fill("#8a8678")}},
      {"h6", {fill("#a59c74")}},
      {"h7", {fill("#c3b369")}},
      {"h8", {fill("#e1cc55")}},
  };
  return all;
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

std::string with_looks(std::string sheet) {
  const auto fill_in = [&](const std::string& mark, std::string_view text) {
    for (std::size_t at = 0; (at = sheet.find(mark, at)) != std::string::npos; at += text.size())
      sheet.replace(at, mark.size(), text);
  };
  for (const Role& role : roles()) {
    std::string rule;
    for (const auto& [property, value] : role.declarations)
      rule += fmt::format("{}{}:{}", rule.empty() ? "" : ";", property, value);
    fill_in(fmt::format("@{}@", role.name), rule);
  }
  for (const PageColour& each : kPageColours) {
    fill_in(fmt::format("@{}@", each.name), each.light);
    fill_in(fmt::format("@dark-{}@", each.name), each.dark);
  }
  return sheet;
}

Look look_of(std::string_view role, int style, bool is_text) {
  Look look;
  const auto colour = [&](std::string_view value) {
    if (value == "var(--c)") return kLightColours[static_cast<std::size_t>(colour_of(style))];
    for (const PageColour& each : kPageColours)
      if (value == fmt::format("var(--{})", each.name)) return each.light;
    return value;
  };
  const auto number = [](std::string_view value) {
    return std::strtod(std::string(value).c_str(), nullptr);
  };
  for (const Role& each : roles()) {
    if (each.name != role && !(is_text && each.name == "text")) continue;
    for (const auto& [property, value] : each.declarations) {
      if (property == "fill") look.fill = colour(value);
      if (property == "stroke") look.stroke = colour(value);
      if (property == "stroke-width") look.width = number(value);
      if (property == "stroke-dasharray") look.dash = value;
      if (property == "opacity") look.opacity = number(value);
      if (property == "font-size") look.size = number(value);
    }
  }
  if (role == "mean") look.dash = kDashes[static_cast<std::size_t>(shape_of(style))];
  return look;
}

}  // namespace acid
