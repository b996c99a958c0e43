#include "engine/worker/optimizer.hpp"

#include <cmath>

#include "tests/catch.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;
using test::Workers;

namespace {

// Three commits of given gradients on one parameter; returns x after each.
std::vector<double> trajectory(const OptimizerSettings& optimizer, double x0,
                               const std::vector<double>& gradients, double rate) {
  Workers workers(1, 1, test::kAverage, optimizer);
  workers[0].start(std::vector<double>{x0});
  std::vector<double> xs;
  for (const double g : gradients) {
    workers[0].begin_gradient(0);
    workers[0].commit_gradient(0, std::vector<double>{g}, rate);
    xs.push_back(workers[0].x()[0]);
  }
  return xs;
}

}  // namespace

TEST_CASE("SGD with momentum, Nesterov and weight decay follows torch.optim.SGD") {
  for (const bool nesterov : {false, true}) {
    OptimizerSettings optimizer;
    optimizer.momentum = 0.9;
    optimizer.weight_decay = 0.01;
    optimizer.nesterov = nesterov;
    const auto xs = trajectory(optimizer, 2.0, {1.0, -0.5, 0.25}, 0.1);
    double x = 2, buffer = 0;
    int k = 0;
    for (const double g : {1.0, -0.5, 0.25}) {
      const double u = g + 0.01 * x;
      buffer = 0.9 * buffer + u;
      x -= 0.1 * (nesterov ? u + 0.9 * buffer : buffer);
      CHECK(xs[static_cast<std::size_t>(k++)] == Approx(x).margin(1e-14));
    }
  }
}

TEST_CASE("CORRECTNESS 27: Adam is AccumAdam with s = 1") {
  OptimizerSettings optimizer;
  optimizer.kind = OptimizerKind::adam;
  const auto xs = trajectory(optimizer, 1.0, {1.0, -0.5, 0.25, 3.0}, 0.1);
  double x = 1, m = 0, v = 0;
  const double b1 = 0.9, b2 = 0.999;
  int k = 0;
  for (const double g : {1.0, -0.5, 0.25, 3.0}) {
    ++k;
    const double m1 = b1 * m + (1 - b1) * g, v1 = b2 * v + (1 - b2) * g * g;
    x -= 0.1 / (1 - std::pow(b1, k)) * m1 / (std::sqrt(v1) / std::sqrt(1 - std::pow(b2, k)) + 1e-8);
    m = m1, v = v1;
    CHECK(xs[static_cast<std::size_t>(k - 1)] == Approx(x).margin(1e-15));
  }
}

TEST_CASE("AdamW decays x itself, Adam its gradient") {
  OptimizerSettings optimizer;
  optimizer.weight_decay = 0.1;
  optimizer.kind = OptimizerKind::adamw;
  // The first Adam step has size γ for any gradient; AdamW adds γ·0.1·x.
  CHECK(trajectory(optimizer, 2.0, {5.0}, 0.01)[0] == Approx(2 - 0.01 - 0.01 * 0.1 * 2));
  optimizer.kind = OptimizerKind::adam;
  CHECK(trajectory(optimizer, 2.0, {5.0}, 0.01)[0] == Approx(2 - 0.01));
}

TEST_CASE("weight decay can spare biases and norms") {
  OptimizerSettings optimizer;
  optimizer.weight_decay = 0.5;
  const std::vector<Segment> segments = {
      {"weight", {2, 2}, 0, 4}, {"bias", {2}, 4, 2}, {"norm", {1}, 6, 1}, {"out", {1, 3}, 7, 3}};
  CHECK(decay_ranges(optimizer, segments, 10).size() == 1);
  optimizer.decay_one_dimensional = false;
  const auto ranges = decay_ranges(optimizer, segments, 10);
  REQUIRE(ranges.size() == 3);
  CHECK(ranges[0].end == 4);
  CHECK(ranges[1].decay == 0);
  CHECK(ranges[1].end == 7);
  CHECK(ranges[2].decay == 0.5);
  optimizer.decay_one_dimensional = true;
  optimizer.no_decay = {"norm", "eigh"};
  const auto named = decay_ranges(optimizer, segments, 10);
  REQUIRE(named.size() == 4);
  CHECK(named[0].decay == 0);  // "weight"
  CHECK(named[1].decay == 0.5);
  CHECK(named[2].decay == 0);
  CHECK(named[3].begin == 7);
}

TEST_CASE("a fused commit and begin has the bits of one after the other") {
  OptimizerSettings optimizer;
  optimizer.momentum = 0.9;
  Workers fused(2, 65, test::kAccelerated, optimizer), apart(2, 65, test::kAccelerated, optimizer);
  fused.start_random(1);
  apart.start_random(1);
  std::vector<double> g(65);
  Stream stream(2);
  fused[0].begin_gradient(0);
  apart[0].begin_gradient(0);
  for (int step = 1; step < 6; ++step) {
    for (double& value : g) value = stream.normal();
    fused[0].commit_gradient(step, g, 0.1, true);
    apart[0].commit_gradient(step, g, 0.1);
    apart[0].begin_gradient(step);
    BasicWorker<double>::exchange(fused[0], fused[1], step + 0.5);
    BasicWorker<double>::exchange(apart[0], apart[1], step + 0.5);
    for (std::size_t k = 0; k < 65; ++k) {
      CHECK(fused[0].snapshot()[k] == apart[0].snapshot()[k]);
      CHECK(fused[0].x()[k] == apart[0].x()[k]);
    }
  }
  CHECK(fused[0].staleness() == 1);  // the exchange before the last commit
  CHECK(apart[0].staleness() == 1);
}

TEST_CASE("CORRECTNESS 31: warm-up leads to the linearly scaled rate, then milestones") {
  Schedule schedule;
  schedule.kind = ScheduleKind::step;
  schedule.learning_rate = 0.1;
  schedule.scale = 32.0 * 16 / 256;  // batch 32, 16 workers, reference 256
  schedule.warmup = 0.1;
  schedule.milestones = {0.5, 0.75};
  CHECK(schedule.rate(0) == Approx(0.1));  // Goyal et al.: from the unscaled rate
  CHECK(schedule.rate(0.05) == Approx(0.15));
  CHECK(schedule.rate(0.1) == Approx(0.2));
  CHECK(schedule.rate(0.49) == Approx(0.2));
  CHECK(schedule.rate(0.5) == Approx(0.02));
  CHECK(schedule.rate(0.8) == Approx(0.002));
  schedule.warmup_from = 0.25;  // of the rate at the end of the warm-up
  CHECK(schedule.rate(0) == Approx(0.05));
  CHECK(schedule.rate(0.05) == Approx(0.125));
  CHECK(schedule.rate(0.1) == Approx(0.2));
}

TEST_CASE("cosine and inverse-sqrt schedules") {
  Schedule cosine;
  cosine.kind = ScheduleKind::cosine;
  cosine.learning_rate = 1;
  cosine.minimum = 0.1;
  CHECK(cosine.rate(0) == Approx(1));
  CHECK(cosine.rate(0.5) == Approx(0.55));
  CHECK(cosine.rate(1) == Approx(0.1));
  Schedule root;
  root.kind = ScheduleKind::inverse_sqrt;
  root.learning_rate = 1;
  root.warmup = 0.04;
  CHECK(root.rate(0.02) == Approx(0.5));
  CHECK(root.rate(0.04) == Approx(1));
  CHECK(root.rate(0.16) == Approx(0.5));
}
