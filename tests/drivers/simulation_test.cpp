#include "engine/drivers/simulation.hpp"

#include <cmath>

#include "engine/drivers/normalised_clock.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

double mean_of(const ComputeModel& model, int worker) {
  double sum = 0;
  constexpr int kCount = 100'000;
  for (int step = 0; step < kCount; ++step) sum += model.draw_seconds(worker, step, Seeds(3));
  return sum / kCount;
}

}  // namespace

TEST_CASE("every compute model has the mean it promises") {
  for (const auto& [kind, parameter] : {std::pair{ComputeKind::constant, 0.0},
                                        {ComputeKind::exponential, 0.0},
                                        {ComputeKind::shifted_exponential, 0.7},
                                        {ComputeKind::lognormal, 0.5},
                                        {ComputeKind::pareto, 3.0}}) {
    ComputeModel model;
    model.kind = kind;
    model.parameter = parameter;
    model.gradient_seconds = 0.05;
    model.slow_factors = {1.0, 4.0};
    model.slowdown_probability = 0.1;
    model.slowdown_factor = 6;
    for (const int worker : {0, 1}) {
      INFO("kind " << static_cast<int>(kind) << " worker " << worker);
      CHECK(mean_of(model, worker) == Approx(model.mean_seconds(worker)).epsilon(0.02));
    }
  }
}

TEST_CASE("a pause puts off the end of what it interrupts") {
  ComputeModel model;
  model.pauses = {{0, 1.0, 2.0}, {0, 10.0, 5.0}, {1, 0.0, 100.0}};
  CHECK(model.end_seconds(0, 0.0, 0.5) == 0.5);
  CHECK(model.end_seconds(0, 0.5, 1.0) == 3.5);   // half before, half after
  CHECK(model.end_seconds(0, 2.0, 1.0) == 4.0);   // begins inside the pause
  CHECK(model.end_seconds(0, 0.5, 8.0) == 15.5);  // reaches into the second
}

TEST_CASE("CORRECTNESS 29: synchronous rounds take the closed forms' time") {
  // F = 1, g = 0.5, B = 4, so one gradient takes 3 with the forward pass a third of it.
  CostModel cost;
  cost.forward_share = 1.0 / 3;
  cost.buckets = 4;
  const std::vector<double> durations(8, 3.0);
  const std::vector<std::vector<int>> everybody(8, std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  for (const auto& [c, all_reduce, decentralised] :
       {std::tuple{0.1, 3.1, 3.0}, {0.5, 3.5, 3.0}, {0.75, 4.5, 3.0}, {1.0, 5.5, 4.0}}) {
    RoundClock reduce(8, cost), overlap(8, cost);
    CHECK(reduce.all_reduce(durations, c) == Approx(all_reduce).epsilon(1e-9));
    CHECK(reduce.all_reduce(durations, c) == Approx(2 * all_reduce).epsilon(1e-9));
    const std::vector<double> bucket_seconds(8, c);
    double warm = 0, end = 0;
    for (int round = 0; round < 20; ++round)
      warm = overlap.overlapped(durations, bucket_seconds, everybody);
    for (int round = 0; round < 10; ++round)
      end = overlap.overlapped(durations, bucket_seconds, everybody);
    CHECK((end - warm) / 10 == Approx(decentralised).epsilon(1e-9));
  }
}

TEST_CASE("CORRECTNESS 29: the optimiser's share comes after all-reduce and inside the overlap") {
  CostModel cost;  // F = 1, g = 0.5, B = 4, U = 1
  cost.forward_share = 0.25;
  cost.optimizer_share = 0.25;
  cost.buckets = 4;
  const std::vector<double> durations(3, 4.0);
  RoundClock reduce(3, cost);
  CHECK(reduce.all_reduce(durations, 0.75) == Approx(std::max(3.75, 4.5) + 1).epsilon(1e-9));
}

TEST_CASE("CORRECTNESS 30: ring all-reduce cost and the maximum of shifted exponentials") {
  NetworkModel network;
  network.link = {0.001, 1e6};
  CHECK(network.all_reduce_seconds(4, 1e6) == Approx(2 * 3 * 0.001 + 2 * 3.0 / 4 * 1.0));
  CHECK(network.all_reduce_seconds(1, 1e6) == 0);

  ComputeModel model;
  model.kind = ComputeKind::shifted_exponential;
  model.parameter = 0.6;  // D = 0.6, mean of the exponential part 0.4
  constexpr int n = 16, kRounds = 20'000;
  double sum = 0;
  for (int round = 0; round < kRounds; ++round) {
    double longest = 0;
    for (int worker = 0; worker < n; ++worker)
      longest = std::max(longest, model.draw_seconds(worker, round, Seeds(1)));
    sum += longest;
  }
  double harmonic = 0;
  for (int k = 1; k <= n; ++k) harmonic += 1.0 / k;
  CHECK(sum / kRounds == Approx(0.6 + 0.4 * harmonic).epsilon(0.01));
}

TEST_CASE("a slow link overrides the network's, and bounds the all-reduce") {
  NetworkModel network;
  network.link = {0.001, 1e9};
  network.edges[{0, 1}] = {0.05, 1e6};
  CHECK(network.between(1, 0).seconds(1e6) == Approx(1.05));
  CHECK(network.between(1, 2).seconds(1e6) == Approx(0.002));
  CHECK(network.all_reduce_seconds(2, 1e6) == Approx(2 * 0.05 + 1.0));
}

TEST_CASE("normalised time stands still while nobody computes") {
  NormalisedClock clock(2, 1.0);
  clock.begins(0, 0.5);
  clock.begins(0, 2.0);  // rate (2 + 0.5)/2 = 1.25 per second
  CHECK(clock.time_at(4) == Approx(5));
  CHECK(clock.seconds_at(5) == Approx(4));
  clock.ends(4, 0.5);  // held: 0.25 per second
  CHECK(clock.time_at(8) == Approx(6));
  clock.ends(8, 2.0);
  CHECK(clock.time_at(100) == Approx(6));
  CHECK(std::isinf(clock.seconds_at(7)));
  clock.begins(100, 0.5);
  CHECK(clock.time_at(101) == Approx(7));
}
