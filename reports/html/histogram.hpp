#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/html/page_figure.hpp"

namespace acid {

/// Shares of gradients by staleness 0, 1, 2, …, as bars from zero; the last of the `counts` is for
/// that staleness and more. A sentence instead of a picture if no gradient was stale, empty if
/// nothing was counted. Title: plain text.
PageFigure draw_staleness(const std::string& id, const std::string& title, int style,
                          const std::vector<std::int64_t>& counts);

}  // namespace acid
