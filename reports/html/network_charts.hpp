#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/html/page_figure.hpp"

namespace acid {

/// An edge with its nominal rate λᵢⱼ and the rate at which it exchanged, both per unit of
/// normalised time.
struct RatedEdge {
  int i = 0, j = 0;
  double nominal = 0, realised = 0;
};

/// Drawings of single workers and edges are not readable with more workers.
inline constexpr int kMostDrawnWorkers = 64;

/// Workers on a circle, from the top clockwise, or on a grid of `columns` when that is positive (a
/// torus; its wrap-around edges are short stubs). workers ≤ kMostDrawnWorkers.
PageFigure draw_topology(const std::string& id, const std::string& title, int workers,
                         const std::vector<RatedEdge>& edges, int columns);

/// Pairs of workers that averaged: nominal rates above the diagonal, realised ones below, one
/// colour scale. workers ≤ kMostDrawnWorkers.
PageFigure draw_pairing(const std::string& id, const std::string& title, int workers,
                        const std::vector<RatedEdge>& edges);

/// The examples of each worker: workers across, classes down, coloured by number of examples
/// (Objective::holdings()); at least one worker, at most kMostDrawnWorkers.
PageFigure draw_holdings(const std::string& id, const std::string& title,
                         const std::vector<std::vector<std::int64_t>>& holdings);

/// One bar per worker from zero; `as_share` writes values as percentages. With more than
/// kMostDrawnWorkers bars a sentence with smallest, median and largest instead.
PageFigure draw_bars(const std::string& id, const std::string& title, int style,
                     const std::vector<double>& values, bool as_share);

/// Shares of gradients by staleness 0, 1, 2, …, as bars from zero; the last of the `counts` is for
/// that staleness and more. A sentence instead of a picture if no gradient was stale, empty if
/// nothing was counted. Title: plain text.
PageFigure draw_staleness(const std::string& id, const std::string& title, int style,
                          const std::vector<std::int64_t>& counts);

}  // namespace acid
