#include "reports/curves.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"

using namespace acid;

namespace {

std::vector<SeriesPoint> samples(std::initializer_list<std::pair<std::int64_t, double>> values) {
  std::vector<SeriesPoint> series;
  for (const auto& [gradients, value] : values) {
    const double time = static_cast<double>(gradients);
    series.push_back({{gradients, time / 4, time / 100, gradients * 8}, value});
  }
  return series;
}

}  // namespace

TEST_CASE("the window mean takes the samples between two shares of the budget, ends included") {
  const auto series = samples({{0, 100}, {20, 1}, {35, 2}, {50, 6}, {51, 100}});
  CHECK(*window_mean(series, 100, 0.2, 0.5) == Approx(3));
  CHECK_FALSE(window_mean(series, 1000, 0.2, 0.5));
  CHECK_FALSE(window_mean({}, 100, 0.2, 0.5));
}

TEST_CASE("points lie on the axis asked for and leave out what is not finite") {
  const auto series = samples({{4, 1}, {8, std::nan("")}, {12, 3}});
  for (const Axis axis : kAxes) {
    const auto points = points_on(series, axis);
    REQUIRE(points.size() == 2);
    CHECK(points[1].x == coordinate(series[2].position, axis));
    CHECK(points[1].y == 3);
  }
}

TEST_CASE("a straight line stays one on any grid, and nothing is invented outside it") {
  const std::vector<CurvePoint> line{{2, 20}, {7, 70}};
  const auto values = on_grid(line, 10, 100);
  CHECK(std::isnan(values[0]));
  CHECK(std::isnan(values[99]));
  CHECK(values[45] == Approx(45.5));
  for (const double value : on_grid({}, 10, 4)) CHECK(std::isnan(value));
  for (const double value : on_grid(line, 0, 4)) CHECK(std::isnan(value));
}

TEST_CASE("a cell with several points holds their mean") {
  const std::vector<CurvePoint> points{{0.1, 1}, {0.2, 3}, {0.9, 5}, {1.5, 7}};
  const auto values = on_grid(points, 2, 2);
  CHECK(values[0] == Approx(3));
  CHECK(values[1] == Approx(7));
}

TEST_CASE("thinning keeps the first and last point and every spike") {
  std::vector<CurvePoint> points;
  for (int k = 0; k < 10000; ++k) points.push_back({double(k), std::sin(k * 0.01)});
  points[4321].y = 50;
  points[7654].y = -50;
  const auto kept = thinned(points, 9999, 100);
  CHECK(kept.size() <= 202);
  CHECK(kept.front().x == 0);
  CHECK(kept.back().x == 9999);
  const auto has = [&](double y) {
    return std::any_of(kept.begin(), kept.end(), [&](const CurvePoint& p) { return p.y == y; });
  };
  CHECK(has(50));
  CHECK(has(-50));
  CHECK(std::is_sorted(kept.begin(), kept.end(),
                       [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; }));
  CHECK(thinned(std::vector<CurvePoint>{{1, 1}}, 10, 100).size() == 1);
  CHECK(thinned({}, 10, 100).empty());
}

TEST_CASE("the band is the mean over seeds with its t interval, where every seed is known") {
  const double nan = std::nan("");
  const Band band = band_over_seeds({{1, 2, nan}, {3, 2, 5}}, 3, false);
  REQUIRE(band.x.size() == 2);
  CHECK(band.x[0] == Approx(0.5));
  CHECK(band.mean[0] == Approx(2));
  CHECK(band.high[0] == Approx(2 + 12.706204736));
  CHECK(band.low[1] == Approx(2));
  const Band geometric = band_over_seeds({{1}, {100}}, 1, true);
  CHECK(geometric.mean[0] == Approx(10));
  CHECK(geometric.low[0] * geometric.high[0] == Approx(100));
  CHECK(band_over_seeds({{0}, {1}}, 1, true).x.empty());
  CHECK(band_over_seeds({{4}}, 1, false).low[0] == 4);
  CHECK(band_over_seeds({}, 1, false).x.empty());
}
