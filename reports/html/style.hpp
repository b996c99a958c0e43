#pragma once

#include <string>
#include <string_view>

namespace acid {

/// Colour and dash combinations s0 … s9 of the style sheet, in the order of the algorithms.
/// Okabe–Ito colours, each with its own dash, so that no series is told by colour alone.
inline constexpr int kStyles = 10;

/// The page's only style sheet. Its hash is in the page's content security policy.
std::string_view style_sheet();

/// A short line in a series' colour and dash, for legends and tables.
std::string swatch(int style);

}  // namespace acid
