#pragma once

#include <string>

#include "reports/drawing/drawing.hpp"

namespace acid {

/// A drawing as an element of a page, accessible: its role, and <title> and <desc> that its
/// aria-labelledby names. How shapes look is in the page's style sheet, by their roles.
std::string svg(const Drawing& drawing);
std::string svg(const Shapes& shapes);

}  // namespace acid
