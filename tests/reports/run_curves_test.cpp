// A run's curve, reduced while it is read, is compared with a slow computation of the same.
#include "reports/html/run_curves.hpp"

#include <algorithm>
#include <cmath>

#include "tests/catch.hpp"
#include "tests/reports/recorded_run.hpp"

using namespace acid;
using synthetic::RecordedRuns;

namespace {

using Samples = std::vector<RecordedRuns::Sample>;

RunCurve curve_of(const Samples& samples, const AxisEnds& ends, int cells, int points) {
  RecordedRuns recorded(1);
  recorded.record(0, "train_loss", samples);
  auto curves =
      read_run_curves(recorded.store, recorded.ids[0], {"train_loss"}, ends, cells, points);
  REQUIRE(curves.size() == 1);
  return curves[0];
}

constexpr AxisEnds kHundred{400, 100, 10, 800};  // where time is 100

Samples noisy(int count) {
  Samples samples;
  std::uint32_t state = 7;
  for (int k = 0; k < count; ++k) {
    state = state * 1664525 + 1013904223;
    const double noise = static_cast<double>(state >> 8) / (1 << 24);
    samples.push_back({100.0 * k / (count - 1), std::cos(k * 0.001) + noise});
  }
  return samples;
}

}  // namespace

TEST_CASE("a cell holds the mean of all its values, on every axis") {
  const RunCurve curve = curve_of({{0, 1}, {1, 3}, {49, 8}, {50, 5}, {100, 7}}, kHundred, 2, 10);
  for (const auto& [cells, unused] : curve.cells) {
    REQUIRE(cells.size() == 2);
    CHECK(cells[0] == Approx(4));
    CHECK(cells[1] == Approx(6));
  }
  CHECK(curve.cells[1].places == std::vector<double>{24.5, 75});
}

TEST_CASE("cells without a value lie on the straight line, and nothing is invented outside it") {
  const RunCurve curve = curve_of({{20, 20}, {70, 70}}, kHundred, 100, 10);
  for (const auto& [cells, places] : curve.cells) {
    CHECK(std::isnan(cells[19]));
    CHECK(cells[20] == 20);
    CHECK(cells[45] == Approx(45.5));
    CHECK(cells[69] == Approx(69.5));
    CHECK(cells[70] == 70);
    CHECK(std::isnan(cells[71]));
    // Only cells with samples have places.
    CHECK(std::ranges::count_if(places, [](double place) { return std::isfinite(place); }) == 2);
  }
  CHECK(curve.cells[1].places[20] == 20);
  CHECK(curve.cells[0].places[70] == 280);
}

TEST_CASE("what is not finite is left out, and the line goes on across it") {
  const RunCurve curve =
      curve_of({{0, 0}, {30, NAN}, {50, INFINITY}, {100, 100}}, kHundred, 10, 10);
  for (const auto& each : curve.cells) CHECK(each.means[3] == Approx(35));
  CHECK(curve.line.size() == 2);
  const RunCurve empty = curve_of({{0, NAN}, {50, NAN}}, kHundred, 10, 10);
  CHECK(empty.line.empty());
  CHECK(std::isnan(empty.cells[0].means[0]));
}

TEST_CASE("an axis that nothing moves along has no cells, values beyond its end only lead there") {
  const RunCurve still = curve_of({{0, 1}, {50, 2}}, {400, 100, 0, 800}, 10, 10);
  for (const double cell : still.cells[2].means) CHECK(std::isnan(cell));
  CHECK(still.cells[1].means[5] == 2);
  const RunCurve beyond = curve_of({{0, 0}, {200, 200}}, kHundred, 10, 10);
  CHECK(beyond.cells[1].means[9] == Approx(95));
  CHECK(beyond.cells[1].means[0] == 0);
}

TEST_CASE("many values give the same means in one pass as at leisure") {
  constexpr int kCells = 37;
  const Samples samples = noisy(5000);
  const RunCurve curve = curve_of(samples, kHundred, kCells, 50);
  std::vector<double> sums(kCells, 0.0), counts(kCells, 0.0);
  for (const auto& sample : samples) {
    const auto cell = static_cast<std::size_t>(cell_of(sample.time, 100, kCells));
    sums[cell] += sample.value;
    ++counts[cell];
  }
  for (std::size_t k = 0; k < kCells; ++k)
    CHECK(curve.cells[1].means[k] == Approx(sums[k] / counts[k]));
}

TEST_CASE("a line of many points keeps its ends and every spike, one of few keeps all") {
  Samples samples = noisy(5000);
  samples[1234].value = 50;
  samples[4321].value = -50;
  const RunCurve curve = curve_of(samples, kHundred, 10, 100);
  CHECK(curve.line.size() <= 102);
  CHECK(curve.line.size() > 80);
  CHECK(curve.line.front().position.normalised_time == 0);
  CHECK(curve.line.back().position.normalised_time == 100);
  const auto has_value = [&](double value) {
    return std::ranges::count(curve.line, value, &SeriesPoint::value) == 1;
  };
  CHECK(has_value(50));
  CHECK(has_value(-50));
  for (std::size_t k = 1; k < curve.line.size(); ++k)
    CHECK(curve.line[k - 1].position.normalised_time < curve.line[k].position.normalised_time);
  CHECK(curve_of(noisy(100), kHundred, 10, 100).line.size() == 100);
}

TEST_CASE("a line is thinned also where no axis has an end") {
  const RunCurve curve = curve_of(noisy(500), {0, 0, 0, 0}, 10, 20);
  CHECK(curve.line.size() >= 3);
  CHECK(curve.line.size() <= 4);
}

TEST_CASE("metrics that a run has not recorded give empty curves, in their place") {
  RecordedRuns recorded(1);
  recorded.record(0, "eval_loss", {{0, 1}, {100, 2}});
  const auto curves =
      read_run_curves(recorded.store, recorded.ids[0], {"train_loss", "eval_loss"}, kHundred, 4, 9);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].line.empty());
  CHECK(curves[1].line.size() == 2);
}
