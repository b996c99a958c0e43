#include "reports/curves.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"

using namespace acid;

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

TEST_CASE("a band has means over seeds and t intervals where all seeds and the place are known") {
  const double nan = std::nan("");
  const Band band = band_over_seeds({{1, 2, 7, nan}, {3, 2, 8, 5}}, {0.5, 1.5, nan, 3.5}, false);
  REQUIRE(band.x.size() == 2);
  CHECK(band.x[0] == Approx(0.5));
  CHECK(band.mean[0] == Approx(2));
  CHECK(band.high[0] == Approx(2 + 12.706204736));
  CHECK(band.low[1] == Approx(2));
  CHECK(band.x[1] == Approx(1.5));
  const Band geometric = band_over_seeds({{1}, {100}}, {0}, true);
  CHECK(geometric.mean[0] == Approx(10));
  CHECK(geometric.low[0] * geometric.high[0] == Approx(100));
  CHECK(band_over_seeds({{0}, {1}}, {0}, true).x.empty());
  CHECK(band_over_seeds({{4}}, {0}, false).low[0] == 4);
  CHECK(band_over_seeds({}, {0}, false).x.empty());
}
