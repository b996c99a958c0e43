#include <algorithm>
#include <cmath>

#include "engine/base/quantiles.hpp"
#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/drivers/virtual/machine.hpp"
#include "engine/methods/network.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

double mean_of(const ComputeModel& model, int worker) {
  double sum = 0;
  constexpr int kCount = 100'000;
  for (int step = 0; step < kCount; ++step) sum += model.draw_seconds(worker, step, Seeds(3));
  return sum / kCount;
}

NetworkModel random_network(int workers, std::uint64_t seed) {
  Stream stream(30, seed);
  NetworkModel network;
  network.link = {0.1 * stream.uniform(), 1e6 * (1 + stream.uniform())};
  for (int i = 0; i < workers; ++i)
    if (stream.uniform() < 0.4)
      network.edges[std::minmax(i, (i + 1) % workers)] = {
          stream.uniform(), stream.uniform() < 0.3 ? 0 : 2e5 + 1e6 * stream.uniform()};
  return network;
}

/// Worker i has had its s-th piece at T[i]; the link from i to i + 1 is free at L[i].
double ring_message_by_message(const NetworkModel& network, int workers, double bytes) {
  const auto n = static_cast<std::size_t>(workers);
  std::vector<double> T(n, 0.0), L(n, 0.0);
  for (int s = 0; s < 2 * (workers - 1); ++s) {
    std::vector<double> next(n);
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t to = (i + 1) % n;
      const LinkCost& link = network.between(static_cast<int>(i), static_cast<int>(to));
      const double transfer =
          link.bytes_per_second > 0 ? bytes / workers / link.bytes_per_second : 0;
      L[i] = std::max(T[i], L[i]) + transfer;
      next[to] = std::max(T[to], L[i] + link.latency_seconds);
    }
    T = next;
  }
  return *std::max_element(T.begin(), T.end());
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

TEST_CASE("measured durations have the mean they promise, and the quantiles that were measured") {
  ComputeModel model;
  model.kind = ComputeKind::measured;
  model.gradient_seconds = 0.05;
  model.quantiles = with_mean_1({8, 10, 10.5, 11, 40});
  CHECK(mean_of_quantiles(model.quantiles) == Approx(1).epsilon(1e-15));
  CHECK(mean_of(model, 0) == Approx(0.05).epsilon(0.01));
  std::vector<double> drawn;
  for (int step = 0; step < 20'000; ++step) drawn.push_back(model.draw_seconds(1, step, Seeds(5)));
  std::ranges::sort(drawn);
  for (const double probability : {0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0}) {
    INFO("probability " << probability);
    const auto at = static_cast<std::size_t>(probability * static_cast<double>(drawn.size() - 1));
    CHECK(drawn[at] == Approx(0.05 * quantile_at(model.quantiles, probability)).epsilon(0.02));
  }
}

TEST_CASE("quantiles of what was measured keep its mean, with rare long durations, too") {
  std::vector<double> measured;
  Stream stream(1, 2);
  for (int k = 0; k < 1000; ++k) measured.push_back(k % 200 == 0 ? 9 : 1 + 0.1 * stream.uniform());
  double mean = 0;
  for (const double value : measured) mean += value / 1000;
  const std::vector<double> quantiles = quantiles_of(measured, 33);
  CHECK(quantiles.size() == 33);
  CHECK(why_no_quantiles(quantiles) == nullptr);
  CHECK(mean_of_quantiles(quantiles) == Approx(mean).epsilon(1e-12));
  CHECK(quantile_at(quantiles, 0.5) == Approx(1.05).epsilon(0.01));
  CHECK(quantiles_of({3}, 2) == std::vector<double>{3, 3});
}

TEST_CASE("a pause puts off the end of what it interrupts") {
  ComputeModel model;
  model.pauses = {{0, 1.0, 2.0}, {0, 10.0, 5.0}, {1, 0.0, 100.0}};
  CHECK(model.end_seconds(0, 0.0, 0.5) == 0.5);
  CHECK(model.end_seconds(0, 0.5, 1.0) == 3.5);   // half before, half after
  CHECK(model.end_seconds(0, 2.0, 1.0) == 4.0);   // begins inside the pause
  CHECK(model.end_seconds(0, 0.5, 8.0) == 15.5);  // reaches into the second
}

TEST_CASE("CORRECTNESS 30: a ring all-reduce on equal links takes the closed form's time") {
  NetworkModel network;
  network.link = {0.001, 1e6};
  for (const int n : {2, 3, 4, 7, 16}) {
    const double closed = 2 * (n - 1) * 0.001 + 2.0 * (n - 1) / n * 1.0;
    CHECK(network.all_reduce_seconds(n, 1e6) == Approx(closed).epsilon(1e-12));
    network.edges[{0, 1}] = network.link;  // named, but like all others
    CHECK(network.all_reduce_seconds(n, 1e6) == Approx(closed).epsilon(1e-12));
    network.edges.clear();
  }
  CHECK(network.all_reduce_seconds(1, 1e6) == 0);
}

TEST_CASE("CORRECTNESS 30: a ring all-reduce pays one slow link's latency twice, not every step") {
  NetworkModel network;
  network.link.latency_seconds = 1e-4;
  network.edges[{1, 2}].latency_seconds = 0.05;
  for (const auto& [n, seconds] : {std::pair{6, 0.101}, {16, 0.103}, {64, 0.112}}) {
    CHECK(network.all_reduce_seconds(n, 1e5) == Approx(seconds).margin(0.0005));
    network.all_reduce = AllReduceKind::blocking;
    CHECK(network.all_reduce_seconds(n, 1e5) == Approx(2 * (n - 1) * 0.05).epsilon(1e-12));
    network.all_reduce = AllReduceKind::ring;
  }
}

TEST_CASE("CORRECTNESS 30: a ring all-reduce takes the time of its messages, one by one") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const int n : {2, 3, 4, 7, 16}) {
      INFO(n << " workers, seed " << seed);
      const NetworkModel network = random_network(n, seed);
      CHECK(network.all_reduce_seconds(n, 1e6) ==
            Approx(ring_message_by_message(network, n, 1e6)).epsilon(1e-12));
    }
  }
}

TEST_CASE("a link of little bandwidth carries an all-reduce's pieces one after the other") {
  NetworkModel network;
  network.edges[{2, 3}] = {0.001, 1e6};
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(2 * 7.0 / 8 + 0.001).epsilon(0.01));
}

TEST_CASE("trees and recursive doubling take their closed forms' time, and see the slow link") {
  NetworkModel network;
  network.link = {0.001, 1e6};
  for (const auto& [n, steps] : {std::pair{2, 1}, {4, 2}, {8, 3}, {16, 4}}) {
    network.all_reduce = AllReduceKind::tree;
    CHECK(network.all_reduce_seconds(n, 1e6) ==
          Approx(2 * steps * 0.001 + (n == 2 ? 1 : 2)).epsilon(1e-12));
    network.all_reduce = AllReduceKind::recursive_doubling;
    CHECK(network.all_reduce_seconds(n, 1e6) == Approx(steps * 1.001).epsilon(1e-12));
  }
  // Workers beyond the largest power of two hand their vectors over before and get the sum after. A
  // port carries one vector at a time, so that these messages are on top of the others.
  for (const auto& [n, steps] : {std::pair{3, 3}, {5, 4}, {6, 4}, {7, 4}, {9, 5}})
    CHECK(network.all_reduce_seconds(n, 1e6) == Approx(steps * 1.001).epsilon(1e-12));
  network.edges[{0, 1}].latency_seconds = 5;
  network.edges[{0, 1}].bytes_per_second = 1e6;
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(6 + 2 * 1.001).epsilon(1e-12));
  network.all_reduce = AllReduceKind::tree;
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(2 * 5.002 + 2).epsilon(1e-12));
}

TEST_CASE("CORRECTNESS 30: the maximum of shifted exponentials is D + H_n / λ") {
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

TEST_CASE("a slow link overrides the network's, whoever names it first") {
  NetworkModel network;
  network.link = {0.001, 1e9};
  network.edges[{0, 1}] = {0.05, 1e6};
  CHECK(network.between(1, 0).seconds(1e6) == Approx(1.05));
  CHECK(network.between(1, 2).seconds(1e6) == Approx(0.002));
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
