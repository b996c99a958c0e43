#include "reports/read_at.hpp"

#include <cmath>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

// Accuracy falls again at the end; gradients 10, 20, … at times 1, 2, …
std::vector<SeriesPoint> accuracy() {
  std::vector<SeriesPoint> points;
  int k = 0;
  for (const double value : {0.5, 0.8, std::nan(""), 0.9, 0.7}) {
    ++k;
    points.push_back({{10 * k, 1.0 * k, 0.5 * k, 100LL * k}, value});
  }
  return points;
}

const Position kEnd{55, 5.5, 2.75, 550};

double value_at(const char* at, const char* metric = "eval_accuracy") {
  const auto sample = sample_at(accuracy(), parse_read_at(at), metric, kEnd);
  return sample ? sample->value : -1;
}

}  // namespace

TEST_CASE("a metric is read where one asks: last, best, or by then on any axis") {
  CHECK(value_at("last") == 0.7);
  CHECK(value_at("best") == 0.9);
  CHECK(value_at("best", "eval_loss") == 0.5);
  CHECK(value_at("best", "exchanges") == 0.7);  // neither direction is better
  CHECK(value_at("gradients=20") == 0.8);
  CHECK(value_at("gradients=29") == 0.8);
  CHECK(value_at("time=4.5") == 0.9);
  CHECK(value_at("seconds=2.5") == 0.7);
  CHECK(value_at("bytes=1e2") == 0.5);
  CHECK(value_at("gradients=5") == -1);  // before the first sample
  CHECK(value_at("gradients=55") == 0.7);
  CHECK(value_at("gradients=56") == -1);  // the run did not get there
}

TEST_CASE("what --at and --target cannot mean is refused, with what they can") {
  for (const char* text : {"", "first", "gradients", "steps=3", "best=2"})
    CHECK_THROWS_WITH(parse_read_at(text), Catch::Contains("gradients=N, time=T"));
  for (const char* text : {"gradients=", "gradients=many", "time=-1", "bytes=nan", "seconds=1s"})
    CHECK_THROWS_WITH(parse_read_at(text), Catch::Contains("is not a number of"));
  for (const char* text : {"", "eval_accuracy", "eval_accuracy=", "eval_accuracy=high"})
    CHECK_THROWS_WITH(parse_target(text), Catch::Contains("eval_accuracy=0.9"));
}

TEST_CASE("a target is reached where the metric first is as good") {
  const auto points = accuracy();
  CHECK(first_at(points, parse_target("eval_accuracy=0.75"))->position.gradients == 20);
  CHECK(first_at(points, parse_target("eval_accuracy=0.85"))->position.gradients == 40);
  CHECK_FALSE(first_at(points, parse_target("eval_accuracy=0.95")));
  CHECK(first_at(points, parse_target("eval_loss=0.75"))->position.gradients == 10);
}
