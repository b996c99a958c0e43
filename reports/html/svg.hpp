#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reports/curves.hpp"

namespace acid {

/// Coordinates in SVG text have at most one decimal: half a pixel nobody sees costs bytes in every
/// one of a page's thousands of points.
std::string svg_number(double value);

/// The opening tag of an accessible drawing: role, <title> and <desc> that its aria-labelledby
/// names. `id` is unique in the page. Title and description are plain text.
std::string svg_open(std::string_view id, std::string_view css_class, double width, double height,
                     std::string_view title, std::string_view description);

/// Path data in tenths of a unit (drawn inside scale(.1)), relative to the last point: short
/// integers. Points are in SVG units.
std::string path_data(std::span<const CurvePoint> points);

/// <text> with plain content; anchor is "start", "middle" or "end".
std::string svg_text(double x, double y, std::string_view anchor, std::string_view plain,
                     std::string_view css_class = {});

}  // namespace acid
