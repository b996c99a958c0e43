#pragma once

#include <cstddef>

namespace acid {

/// How finely a page shows its curves, which are computed from every recorded value.
struct CurveDetail {
  int cells = 0;            // of a band
  int seed_points = 0;      // of a seed's line, at most
  bool seeds_shown = true;  // else they are too many for lines of their own: only bands
  // In the static drawings, which the script's replace on screen; 0: there are none.
  int drawn_cells = 0;
  int drawn_points = 0;
};

/// The budget of the page's size: all curves of a page together take about 3 MB at most, so that
/// the page stays below 5 MB. `metrics`: drawn for each run; `axes`: they are drawn against;
/// `scripted`: the page has a data block, and its drawings are for print.
CurveDetail curve_detail(std::size_t runs, std::size_t groups, std::size_t metrics,
                         std::size_t axes, bool scripted);

}  // namespace acid
