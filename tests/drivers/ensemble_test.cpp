#include "engine/run/ensemble.hpp"

#include <algorithm>
#include <limits>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::Replayable;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Workers in an arbitrary state.
struct Mixed {
  Replayable run;
  std::unique_ptr<Objective> objective;
  Ensemble ensemble;
  explicit Mixed(int workers, int dimension, const std::string& algorithm = "a2cid2")
      : run({.algorithm = algorithm, .workers = workers, .dimension = dimension}),
        objective(test::quadratic(run.task, workers, Seeds(1), 1)),
        ensemble(run.spec, *objective) {
    Stream random(Seeds(9).derived(Purpose::data_order, 0));
    std::vector<float> g(ensemble.dimension());
    for (int step = 0; step < 3 * workers; ++step) {
      const int w = static_cast<int>(random.below(static_cast<std::uint64_t>(workers)));
      for (float& value : g) value = static_cast<float>(random.normal());
      ensemble.worker(w).begin_gradient(step);
      ensemble.worker(w).commit_gradient(step, g, 0.1);
      const int other = (w + 1) % workers;
      if (workers > 1) Worker::exchange(ensemble.worker(w), ensemble.worker(other), step + 0.5);
    }
  }
  /// A gradient of worker w that sets one element of x.
  void set(int w, std::size_t element, float value, double t) {
    std::vector<float> g(ensemble.dimension());
    g[element] = value;
    ensemble.worker(w).begin_gradient(t);
    ensemble.worker(w).commit_gradient(t, g, -1);
  }
};

/// mean_of() of copies mixed to t.
MeanModel mean_of_copies(const Ensemble& ensemble, double t,
                         const std::vector<std::vector<float>>& buffers, bool average) {
  std::vector<std::vector<float>> copies;
  std::vector<std::int64_t> gradients;
  for (int w = 0; w < ensemble.size(); ++w) {
    ensemble.worker(w).read_at(t, 0, copies.emplace_back(ensemble.dimension()));
    gradients.push_back(ensemble.worker(w).gradients());
  }
  const std::vector<std::span<const float>> x(copies.begin(), copies.end());
  const std::vector<std::span<const float>> b(buffers.begin(), buffers.end());
  return acid::mean_of(x, b, gradients, average);
}

void check_same(const Mixed& mixed, double t) {
  const auto n = static_cast<std::size_t>(mixed.ensemble.size());
  const MeanModel a = mixed.ensemble.mean_at(t, {}, {.fingerprints = true});
  CHECK(mixed.ensemble.mean_at(t).fingerprints.empty());
  REQUIRE(a.fingerprints.size() == n);
  for (std::size_t i = 0; i < n; ++i)
    CHECK(a.fingerprints[i] == full_fingerprint(mixed.ensemble.worker(static_cast<int>(i)).x()));
  const MeanModel b = mean_of_copies(mixed.ensemble, t, std::vector<std::vector<float>>(n), true);
  CHECK(a.not_finite == b.not_finite);
  CHECK(a.not_finite_gradients == b.not_finite_gradients);
  if (a.not_finite >= 0) return;
  CHECK(a.x == b.x);
  CHECK(a.consensus_distance == b.consensus_distance);
}

}  // namespace

TEST_CASE("ensemble: the mean of plain vectors is that of workers in that state") {
  for (const int workers : {1, 2, 3, 7, 16})
    for (const int dimension : {1, 63, 64, 65, 10'000}) {
      INFO("n = " << workers << ", d = " << dimension);
      const Mixed mixed(workers, dimension);
      const double last = mixed.ensemble.latest_event();
      for (const double t : {last, last + 0.25, last + 10}) check_same(mixed, t);
    }
  // Larger than one block for any number of workers.
  check_same(Mixed(40, 5000, "ad-psgd"), 1000);
}

TEST_CASE("ensemble: the first worker that is not finite is named, with its gradients") {
  for (const double later : {0.0, 1.0}) {
    Mixed mixed(5, 9000);
    const double t = mixed.ensemble.latest_event();
    mixed.set(3, 17, kInfinity, t);
    mixed.set(2, 8999, kInfinity, t);
    const MeanModel mean = mixed.ensemble.mean_at(t + later);
    CHECK(mean.not_finite == 2);
    CHECK(mean.not_finite_gradients == mixed.ensemble.worker(2).gradients());
    check_same(mixed, t + later);
  }
  const Mixed whole(5, 100);
  CHECK(whole.ensemble.mean_at(100).not_finite == -1);
}

TEST_CASE("ensemble: buffers are averaged, or stay each worker's own") {
  const Mixed mixed(3, 10);
  const std::vector<std::vector<float>> buffers{{1, 2}, {3, 5}, {5, 5}};
  CHECK(mean_of_copies(mixed.ensemble, 100, buffers, true).buffers ==
        std::vector<std::vector<float>>{{3, 4}});
  CHECK(mean_of_copies(mixed.ensemble, 100, buffers, false).buffers == buffers);
  // Without buffers there is one model to evaluate.
  const std::vector<std::vector<float>> none(3);
  for (const bool average : {true, false})
    CHECK(mean_of_copies(mixed.ensemble, 100, none, average).buffers ==
          std::vector<std::vector<float>>(1));
}

TEST_CASE("ensemble: a worker made alone is one of the ensemble") {
  Mixed mixed(3, 50);
  const WorkerSettings settings = worker_settings(mixed.run.spec, *mixed.objective);
  WorkerMemory<float> memory(settings, 1);
  Worker alone(settings, memory);
  Ensemble fresh(mixed.run.spec, *mixed.objective);
  std::vector<float> x0(50), g(50, 0.5F);
  mixed.objective->start(1, x0, {});
  alone.start(x0);
  for (Worker* worker : {&alone, &fresh.worker(1)}) {
    worker->begin_gradient(1);
    worker->commit_gradient(1, g, 0.1);
    worker->finish(3);
  }
  CHECK(std::equal(alone.x().begin(), alone.x().end(), fresh.worker(1).x().begin()));
}
