// Exact properties of SwarmSGD, in double precision (CORRECTNESS 25).
#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/catch.hpp"
#include "tests/methods/bowls.hpp"

using namespace acid;
using namespace acid::test;

namespace {

/// Workers of a method of pairs, one event at a time.
struct Swarm {
  Bowls bowls;
  Method method;
  WorkerSettings settings;
  std::unique_ptr<WorkerMemory<double>> memory;
  std::vector<BasicWorker<double>> workers;
  double t = 0;

  explicit Swarm(const char* name) {
    const AlgorithmEntry* const entry = find_algorithm(name);
    method = entry->make(with_fallbacks(entry->fields, {{"steps", 1}}), nullptr);
    settings.dimension = kDimension;
    settings.decay = {{0, kDimension, 0.0}};
    settings.snapshots = true;
    settings.planned_rate = [](std::int64_t) { return kRate; };
    settings.follow(method.rules);
    memory = std::make_unique<WorkerMemory<double>>(settings, kWorkers);
    Stream stream(7);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      std::vector<double> start(kDimension);
      for (double& value : start) value = stream.normal();
      workers.emplace_back(settings, *memory, i, static_cast<std::uint32_t>(i));
      workers.back().start(start);
    }
  }
  std::vector<double> x(std::size_t i) const {
    return {workers[i].x().begin(), workers[i].x().end()};
  }
  void step(std::size_t i) {
    workers[i].begin_gradient(t);
    const std::vector<double> at(workers[i].snapshot().begin(), workers[i].snapshot().end());
    workers[i].commit_gradient(t += 0.1, bowls.gradient(static_cast<int>(i), at), kRate);
  }
  std::vector<double> sum() const {
    std::vector<double> total(kDimension);
    for (std::size_t i = 0; i < workers.size(); ++i)
      for (std::size_t k = 0; k < kDimension; ++k) total[k] += workers[i].x()[k];
    return total;
  }
};

std::vector<double> sum_of(const std::vector<std::vector<double>>& vectors) {
  std::vector<double> total(kDimension);
  for (const auto& one : vectors)
    for (std::size_t k = 0; k < kDimension; ++k) total[k] += one[k];
  return total;
}

void check_equal(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t k = 0; k < a.size(); ++k) CHECK(a[k] == Approx(b[k]).margin(1e-12));
}

/// (a + b) / 2 − h, where h is 0 if it is not given.
std::vector<double> average(const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<double>& h = std::vector<double>(kDimension)) {
  std::vector<double> mean(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) mean[k] = (a[k] + b[k]) / 2 - h[k];
  return mean;
}

std::vector<double> stepped(const Bowls& bowls, int worker, std::vector<double> x) {
  const std::vector<double> g = bowls.gradient(worker, x);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] -= kRate * g[k];
  return x;
}

std::vector<double> difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference(a);
  for (std::size_t k = 0; k < a.size(); ++k) difference[k] -= b[k];
  return difference;
}

}  // namespace

TEST_CASE("CORRECTNESS 25: a SwarmSGD event is a step of both partners, then their average") {
  Swarm swarm("swarm-sgd");
  CHECK(swarm.method.rate == 1);  // two workers with a gradient each
  Stream stream(3);
  for (int event = 0; event < 100; ++event) {
    const std::size_t i = stream.below(kWorkers),
                      j = (i + 1 + stream.below(kWorkers - 1)) % kWorkers;
    const std::vector<double> expected =
        average(stepped(swarm.bowls, static_cast<int>(i), swarm.x(i)),
                stepped(swarm.bowls, static_cast<int>(j), swarm.x(j)));
    swarm.step(i);
    swarm.step(j);
    BasicWorker<double>::exchange(swarm.workers[i], swarm.workers[j], swarm.t);
    check_equal(swarm.x(i), expected);
    check_equal(swarm.x(j), expected);
  }
}

TEST_CASE("CORRECTNESS 25: in non-blocking SwarmSGD the sum changes by local steps only") {
  Swarm swarm("swarm-sgd-nonblocking");
  std::vector<std::vector<double>> before;  // each worker's model at its last exchange
  for (std::size_t i = 0; i < kWorkers; ++i) before.push_back(swarm.x(i));
  Stream stream(4);
  for (int event = 0; event < 200; ++event) {
    const std::size_t i = stream.below(kWorkers),
                      j = (i + 1 + stream.below(kWorkers - 1)) % kWorkers;
    for (std::uint64_t steps = stream.below(4); steps > 0; --steps) swarm.step(i);
    std::vector<std::vector<double>> offers(2, std::vector<double>(kDimension));
    const double offered = swarm.t;
    swarm.workers[i].offer(offered, offers[0]);
    swarm.workers[j].offer(offered, offers[1]);
    check_equal(offers[0], before[i]);
    check_equal(offers[1], before[j]);
    if (event % 2 == 0) swarm.step(j);  // while the models travel
    const std::vector<double> sum = swarm.sum();
    for (const std::size_t own : {i, j}) {
      const std::vector<double> h = difference(before[own], swarm.x(own));
      const std::vector<double> expected =
          average(offers[own == i ? 0 : 1], offers[own == i ? 1 : 0], h);
      swarm.workers[own].apply(swarm.t, offered, offers[own == i ? 0 : 1],
                               offers[own == i ? 1 : 0]);
      check_equal(swarm.x(own), expected);
    }
    check_equal(swarm.sum(), sum);
    before[i] = swarm.x(i);
    before[j] = swarm.x(j);
  }
}

TEST_CASE("CORRECTNESS 25 and 26: on 8 bits partners average to half a spacing, without bias") {
  constexpr double kSpacing = 0.01;
  const Bowls bowls;
  for (const bool blocking : {true, false}) {
    Walk it = walk(
        blocking ? "swarm-sgd-fixed" : "swarm-sgd-fixed-nonblocking",
        {{"steps", 2},
         {"codec",
          {{"kind", "lattice"}, {"bits", 8}, {"spacing", kSpacing}, {"error_feedback", false}}}});
    double largest = 0, errors = 0, squares = 0;
    int count = 0;
    for (int exchange = 0; exchange < 400; ++exchange) {
      std::vector<std::vector<double>> before, after;
      for (int i = 0; i < kWorkers; ++i) {
        before.push_back(it.x(i));
        after.push_back(it.x(i));
        for (int k = 0; k < 2; ++k) after.back() = stepped(bowls, i, after.back());
      }
      const std::vector<double> sum = sum_of(after);
      const MixingMatrix pairs = it.mixing->matrix(exchange, 5);
      it.go(2, kRate, bowls.of_workers());
      for (std::size_t i = 0; i < kWorkers; ++i) {
        if (pairs.neighbours[i].empty()) continue;
        const auto j = static_cast<std::size_t>(pairs.neighbours[i][0].worker);
        const std::vector<double> exact =
            blocking ? average(after[i], after[j])
                     : average(before[i], before[j], difference(before[i], after[i]));
        for (const double error : difference(it.x(static_cast<int>(i)), exact)) {
          largest = std::max(largest, std::abs(error));
          errors += error;
          squares += error * error;
          ++count;
        }
      }
      std::vector<std::vector<double>> now;
      for (int i = 0; i < kWorkers; ++i) now.push_back(it.x(i));
      if (!blocking) check_equal(sum_of(now), sum);  // Q(xᵢ) + Q(xⱼ) falls out of it
    }
    INFO("largest " << largest << ", mean " << errors / count << " of " << count);
    CHECK(largest <= kSpacing / 2 + 1e-6);
    CHECK(largest > kSpacing / 4);
    // For a mean of two: half the variance s²/12; four standard errors, for pairs that share it.
    CHECK(squares / count == Approx(kSpacing * kSpacing / 24).epsilon(0.1));
    CHECK(std::abs(errors / count) < 4 * kSpacing / std::sqrt(24.0 * count / 2));
  }
}

TEST_CASE("CORRECTNESS 25: with a fixed number of steps SwarmSGD is the same, pair by pair") {
  const Bowls bowls;
  for (const int steps : {1, 3})
    for (const bool blocking : {true, false}) {
      Walk it =
          walk(blocking ? "swarm-sgd-fixed" : "swarm-sgd-fixed-nonblocking", {{"steps", steps}});
      int partners = 0;
      for (int exchange = 0; exchange < 30; ++exchange) {
        std::vector<std::vector<double>> before, after;
        for (int i = 0; i < kWorkers; ++i) {
          before.push_back(it.x(i));
          after.push_back(it.x(i));
          for (int k = 0; k < steps; ++k) after.back() = stepped(bowls, i, after.back());
        }
        const MixingMatrix pairs = it.mixing->matrix(exchange, 5);
        it.go(steps, kRate, bowls.of_workers());
        for (std::size_t i = 0; i < kWorkers; ++i) {
          if (pairs.neighbours[i].empty()) {
            check_equal(it.x(static_cast<int>(i)), after[i]);
            continue;
          }
          ++partners;
          const auto j = static_cast<std::size_t>(pairs.neighbours[i][0].worker);
          check_equal(it.x(static_cast<int>(i)),
                      blocking ? average(after[i], after[j])
                               : average(before[i], before[j], difference(before[i], after[i])));
        }
      }
      CHECK(partners > 100);
    }
}
