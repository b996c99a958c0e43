#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/base/error.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"

namespace acid {
namespace {

constexpr double kSize = 220, kMargin = 18, kStub = 0.35;  // stubs in steps of the grid
constexpr int kMostNumberedWorkers = 32;

std::vector<CurvePoint> on_circle(int workers) {
  std::vector<CurvePoint> places;
  const double radius = kSize / 2 - kMargin;
  for (int i = 0; i < workers; ++i) {
    const double angle = 2 * std::numbers::pi * i / workers;
    places.push_back({kSize / 2 + radius * std::sin(angle), kSize / 2 - radius * std::cos(angle)});
  }
  return places;
}

std::vector<CurvePoint> in_rows(int workers, int columns) {
  std::vector<CurvePoint> places;
  const int rows = (workers + columns - 1) / columns;
  const double step = (kSize - 2 * kMargin) / (std::max({columns - 1, rows - 1, 1}) + 2 * kStub);
  const double left = (kSize - step * (columns - 1)) / 2, top = (kSize - step * (rows - 1)) / 2;
  for (int i = 0; i < workers; ++i)
    places.push_back({left + step * (i % columns), top + step * (i / columns)});
  return places;
}

/// Two stubs that leave the grid in opposite directions, for an edge that wraps around.
std::string wrap_around(const CurvePoint& a, const CurvePoint& b, double step) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  const double dx = (b.x - a.x) / length * step * kStub, dy = (b.y - a.y) / length * step * kStub;
  return path_of("M{} {}l{} {}M{} {}l{} {}", a.x, a.y, -dx, -dy, b.x, b.y, dx, dy);
}

std::string edge_path(const std::vector<CurvePoint>& places, const std::vector<RatedEdge>& edges,
                      double grid_step) {
  std::string path;
  for (const RatedEdge& edge : edges) {
    const CurvePoint &a = places[static_cast<std::size_t>(edge.i)],
                     &b = places[static_cast<std::size_t>(edge.j)];
    if (grid_step > 0 && std::hypot(b.x - a.x, b.y - a.y) > 1.5 * grid_step)
      path += wrap_around(a, b, grid_step);
    else
      path += path_of("M{} {}L{} {}", a.x, a.y, b.x, b.y);
  }
  return path;
}

}  // namespace

PageFigure draw_topology(const std::string& id, const std::string& title, int workers,
                         const std::vector<RatedEdge>& edges, int columns) {
  ACID_ASSERT(workers >= 1 && workers <= kMostDrawnWorkers, "{} workers", workers);
  const bool grid = columns > 1 && columns < workers;
  const std::vector<CurvePoint> places = grid ? in_rows(workers, columns) : on_circle(workers);
  const double step = grid ? places[1].x - places[0].x : 0;
  Shapes out;
  out.path("edge", edge_path(places, edges, step)).ends_line = true;
  const bool numbered = workers <= kMostNumberedWorkers;
  for (int i = 0; i < workers; ++i) {
    const CurvePoint& place = places[static_cast<std::size_t>(i)];
    out.circle("node", place.x, place.y, numbered ? 8 : 3);
    if (numbered) out.text(place.x, place.y + 3, "middle", std::to_string(i), "node-name");
  }
  out.back().ends_line = true;
  std::string csv = "i,j\n";
  for (const RatedEdge& edge : edges) csv += fmt::format("{},{}\n", edge.i, edge.j);
  return {.css_class = "small",
          .caption = escaped(title),
          .drawing = Drawing{id, "graph", kSize, kSize, title,
                             fmt::format("{} workers and {} edges.", workers, edges.size()),
                             std::move(out)},
          .csv = std::move(csv)};
}

}  // namespace acid
