#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// How an algorithm looks, in every chart: a style s has the colour s % 8, and a dash and a marker
/// of its own, those of number (s % 8 + s / 8) % 8. Two styles never share all three.
inline constexpr int kInheritedStyle = -1;
inline constexpr int kColours = 8;
inline constexpr int kStyles = kColours * kColours;
constexpr int colour_of(int style) { return style % kColours; }
constexpr int shape_of(int style) { return (style % kColours + style / kColours) % kColours; }

/// The colours of --k0 to --k7 on white and on the dark page. All but ink and violet are those of
/// Okabe and Ito, or darkened from them, so that colour-blind readers can distinguish them; each
/// has a contrast of 3:1 at least to its paper.
inline constexpr std::array<std::string_view, kColours> kLightColours{
    "#1a1a1a", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8f6f00", "#5e3c99", "#0098a8"};
inline constexpr std::array<std::string_view, kColours> kDarkColours{
    "#e8e6e3", "#56b4e9", "#e69f00", "#00b484", "#d894ba", "#d8c84a", "#a78bea", "#4fd0d8"};

/// Dashes in tenths of a unit; empty: solid.
inline constexpr std::array<std::string_view, kColours> kDashes{
    "", "90 28", "34 26", "120 28 24 28", "18 22", "60 20 18 20 18 20", "40 60", "150 40"};

/// Path data of the markers around 0 0, up to 100 from it.
inline constexpr std::array<std::string_view, kColours> kMarkers{
    "M-85 0a85 85 0 1 0 170 0a85 85 0 1 0-170 0z",
    "M-75-75h150v150h-150z",
    "M0-100l95 165h-190z",
    "M0-105l95 105l-95 105l-95-105z",
    "M0 100l95-165h-190z",
    "M-32-95h64v63h63v64h-63v63h-64v-63h-63v-64h63z",
    "M-50-87h100l50 87l-50 87h-100l-50-87z",
    "M-90-50l40-40l50 50l50-50l40 40l-50 50l50 50l-40 40l-50-50l-50 50l-40-40l50-50z"};

/// A style for each label. It follows from the label alone, so that an algorithm looks the same in
/// every report; if two labels of a report would have one colour, the first in alphabetical order
/// keeps it and the other gets the next one that no label of the report has. Up to kStyles labels
/// have different styles.
std::vector<int> styles_of_labels(const std::vector<std::string>& labels);

/// The other colours of a drawing.
struct PageColour {
  std::string_view name, light, dark;
};
inline constexpr std::array<PageColour, 4> kPageColours{{{"ink", "#1a1a1a", "#e8e6e3"},
                                                         {"soft", "#5c5c5c", "#a5a29d"},
                                                         {"rule", "#d9d9d6", "#3a3a38"},
                                                         {"paper", "#fff", "#161616"}}};

/// The style sheet's text with the looks of drawings: @NAME@ becomes a role's declarations or a
/// colour on light paper, @dark-NAME@ a colour on dark paper. Roles are "mean", "grid" and so on;
/// their table is in looks.cpp.
std::string with_looks(std::string sheet);
/// The rules of the classes s0 … s63, and the colours of each scheme.
std::string style_rules();
std::string colour_rules(const std::array<std::string_view, kColours>& colours);

/// A shape's look on light paper, for drawings without a style sheet. Lengths are in the units of
/// the shape's own coordinates.
struct Look {
  std::string_view fill = "none", stroke = "none";  // "#rrggbb" or "none"
  double width = 1, opacity = 1, size = 10.5;
  std::string_view dash = {};  // lengths with blanks between; empty: solid
};
Look look_of(std::string_view role, int style, bool is_text);

}  // namespace acid
