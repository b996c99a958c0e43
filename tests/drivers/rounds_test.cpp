// The drivers' methods compared with rounds written here, in double, without the engine.
#include <algorithm>
#include <cmath>

#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/watched_task.hpp"

namespace acid::test {
namespace {

using Vectors = std::vector<std::vector<double>>;
constexpr std::size_t kParameters = 12;
constexpr double kRate = 0.05;

Replayable rounds(const std::string& algorithm, int workers, int steps) {
  Replayable run({.algorithm = algorithm,
                  .workers = workers,
                  .rate = 1,
                  .gradients = std::int64_t{workers} * steps,
                  .dimension = kParameters});
  run.task["noise"] = 0.0;
  run.task["heterogeneity"] = 1.0;
  run.task["initial_spread"] = 1.0;
  run.task["curvature"] = 2.0;
  run.task["condition_number"] = 4.0;
  run.spec.schedule = {};
  run.spec.schedule.learning_rate = kRate;
  run.spec.cadence = {
      .consensus_every = 1, .evaluate_every = 1, .workers = WorkerEvaluation::always};
  return run;
}

/// A worker's objective, ½ Σ h(x − b)², from its gradients at two points.
struct Bowls {
  Vectors h, b, start;
  explicit Bowls(const Replayable& run) {
    const auto objective = quadratic(run.task, run.spec.workers, run.spec.seeds, 1);
    const std::vector<float> zero(kParameters), one(kParameters, 1.0F);
    std::vector<float> at_zero(kParameters), at_one(kParameters), x(kParameters);
    for (int w = 0; w < run.spec.workers; ++w) {
      objective->gradient(0, w, 0, zero, {}, at_zero);
      objective->gradient(0, w, 0, one, {}, at_one);
      objective->start(w, x, {});
      start.emplace_back(x.begin(), x.end());
      h.emplace_back();
      b.emplace_back();
      for (std::size_t k = 0; k < kParameters; ++k) {
        h.back().push_back(static_cast<double>(at_one[k]) - at_zero[k]);
        b.back().push_back(-at_zero[k] / h.back()[k]);
      }
    }
  }
};

std::vector<double> mean(const Vectors& x) {
  std::vector<double> sum(x[0].size());
  for (const std::vector<double>& one : x)
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += one[k] / static_cast<double>(x.size());
  return sum;
}

double distance(const std::vector<double>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

/// The models of evaluation `k`: the mean, then the workers.
std::span<const WatchedTask::Model> evaluation(const WatchedRun& it, std::size_t k) {
  const auto n = static_cast<std::size_t>(it.run.spec.workers);
  return std::span(it.evaluated).subspan(k * (n + 1), n + 1);
}

}  // namespace

TEST_CASE("CORRECTNESS 27: decentralised Adam is Adam only where all gradients are identical") {
  constexpr int kSteps = 60;
  for (const char* driver : {"virtual", "threads", "mpi"})
    for (const bool identical : {true, false}) {
      INFO(driver << (identical ? ", identical" : ", different"));
      Replayable run = rounds("d-psgd", 5, kSteps);
      run.spec.optimizer.kind = OptimizerKind::adam;
      if (identical) run.task["heterogeneity"] = run.task["initial_spread"] = 0.0;
      WatchedRun it{.driver = driver, .run = run};
      it.execute();
      // Adam itself, on the mean objective from the mean start.
      const Bowls bowls(run);
      std::vector<double> x = mean(bowls.start), m(kParameters), v(kParameters);
      for (int t = 1; t <= kSteps; ++t)
        for (std::size_t k = 0; k < kParameters; ++k) {
          double g = 0;
          for (std::size_t w = 0; w < 5; ++w) g += bowls.h[w][k] * (x[k] - bowls.b[w][k]) / 5;
          m[k] = 0.9 * m[k] + 0.1 * g;
          v[k] = 0.999 * v[k] + 0.001 * g * g;
          const double m_hat = m[k] / (1 - std::pow(0.9, t)),
                       v_hat = v[k] / (1 - std::pow(0.999, t));
          x[k] -= kRate * m_hat / (std::sqrt(v_hat) + 1e-8);
        }
      const auto end = evaluation(it, kSteps);
      if (identical) {
        CHECK(it.recorder.last("consensus_distance") < 1e-10);
        CHECK(distance(x, end[0].x) < 1e-4);
      } else {
        CHECK(distance(x, end[0].x) > 1e-2);
      }
    }
}

TEST_CASE("CORRECTNESS 31: a slow worker's rate is a fast one's at the same global progress") {
  // Nothing is exchanged and every gradient is at the worker's own x: its step is its rate.
  for (const char* driver : {"virtual", "threads"}) {
    INFO(driver);
    Replayable run(
        {.algorithm = "ad-psgd", .workers = 4, .rate = 1, .gradients = 400, .dimension = 1});
    run.spec.method.rate = 0;
    run.spec.schedule = {};
    run.spec.schedule.kind = ScheduleKind::step;
    run.spec.schedule.learning_rate = 0.25;
    run.spec.schedule.milestones = {0.3, 0.6};
    run.spec.schedule.gamma = 0.5;
    run.spec.schedule.warmup = 0.1;
    run.spec.schedule.scale = 4;
    run.spec.optimizer.momentum = 0;
    struct Slope final : Objective {
      std::vector<std::vector<float>> seen = std::vector<std::vector<float>>(4);
      std::size_t dimension() const override { return 1; }
      std::vector<Segment> segments() const override { return {{"x", {1}, 0, 1}}; }
      void start(int, std::span<float> x, std::span<float>) const override { x[0] = 0; }
      double gradient(int, int w, std::int64_t, std::span<const float> x, std::span<float>,
                      std::span<float> g) override {
        seen[static_cast<std::size_t>(w)].push_back(x[0]);
        g[0] = -1;
        return 0;
      }
      int evaluation_chunks(EvaluationSet) const override { return 1; }
      PartialEvaluation evaluate(int, EvaluationSet, int, std::span<const float>,
                                 std::span<const float>) override {
        return {0, 0, 1};
      }
      bool has_accuracy() const override { return false; }
    } slope;
    MemoryRecorder recorder;
    run.spec.topology = &run.graph;
    const std::vector<double> slow{6, 1, 1.001, 1.002};
    if (std::string(driver) == "virtual") {
      VirtualOptions options;
      options.compute.slow_factors = slow;
      run_virtual({run.spec, slope, recorder}, options);
    } else {
      run.options.slow_factors = {6, 1, 1, 1};
      run_threads({run.spec, slope, recorder}, run.options);
    }
    // Commits of all workers, in order, by worker.
    std::vector<std::pair<double, int>> commits;
    for (int w = 0; w < 4; ++w)
      for (const Event& event : recorder.events_of(w))
        if (event.kind == EventKind::commit_gradient || event.kind == EventKind::commit_and_begin)
          commits.emplace_back(event.time, w);
    std::sort(commits.begin(), commits.end());
    REQUIRE(commits.size() == 400);
    std::vector<std::size_t> done(4);
    std::size_t of_slow = 0;
    for (std::size_t number = 1; number <= commits.size(); ++number) {
      const auto w = static_cast<std::size_t>(commits[number - 1].second);
      const std::size_t k = done[w]++;
      if (k + 1 >= slope.seen[w].size()) continue;  // its result was never seen
      const double progress = static_cast<double>(number) / 400;
      const double peak = progress < 0.1 ? 1 + 3 * progress / 0.1 : 4;
      const double decay = progress < 0.3 ? 1 : progress < 0.6 ? 0.5 : 0.25;
      CHECK(slope.seen[w][k + 1] - slope.seen[w][k] == Approx(0.25 * peak * decay).epsilon(1e-4));
      if (w == 0) ++of_slow;
    }
    if (std::string(driver) == "virtual") CHECK((of_slow > 10 && of_slow < 40));
  }
}

TEST_CASE("CORRECTNESS 16: renumbering a ring by rotation rotates a synchronous result") {
  constexpr int kWorkers = 5;
  const auto turned = [](int w) { return (w + 2) % kWorkers; };
  for (const char* driver : {"virtual", "threads", "mpi"})
    for (const char* round : {kCombineWhileAdapt, kAdaptThenCombine}) {
      INFO(driver << ", round " << round);
      Replayable run = rounds("d-psgd", kWorkers, 30);
      run.task["noise"] = 0.5;
      run.spec.method.round = Round(round);
      run.spec.optimizer.momentum = 0.9;
      WatchedRun plain{.driver = driver, .run = run};
      WatchedRun rotated{.driver = driver, .run = run, .as = turned};
      plain.execute();
      rotated.execute();
      const auto a = evaluation(plain, 30), b = evaluation(rotated, 30);
      for (int w = 0; w < kWorkers; ++w) {
        const WatchedTask::Model& one = a[static_cast<std::size_t>(turned(w)) + 1];
        const WatchedTask::Model& other = b[static_cast<std::size_t>(w) + 1];
        // Neighbours are added up in the order of their numbers.
        CHECK(distance({one.x.begin(), one.x.end()}, other.x) < 1e-5);
        CHECK(one.buffers.back() == other.buffers.back());
      }
      CHECK(a[1].x != b[1].x);
    }
}

// Streams cannot be permuted by a setting, but among many seeds there are two whose lists of edges
// are each other's rotation for the length of a short run, between the same commits.
TEST_CASE("CORRECTNESS 16: renumbering a ring by rotation rotates pairwise gossip, bit for bit") {
  constexpr int kWorkers = 4, kEdges = 9;
  const auto turned = [](int w) { return (w + 1) % kWorkers; };
  const auto seeds = [](std::uint64_t gossip) {
    Seeds all(3);
    all.gossip = gossip;
    return all;
  };
  Replayable run = rounds("ad-psgd", kWorkers, 4);
  run.task["noise"] = 0.5;
  run.spec.optimizer.momentum = 0.9;
  WatchedRun plain{.driver = "virtual", .run = run};
  WatchedRun rotated{.driver = "virtual", .run = run, .as = turned};
  plain.simulated.compute.slow_factors = {1, 1.01, 1.02, 1.03};  // no two commits at one time
  for (int w = 0; w < kWorkers; ++w)
    rotated.simulated.compute.slow_factors.push_back(
        plain.simulated.compute.slow_factors[static_cast<std::size_t>(turned(w))]);

  run.spec.seeds = seeds(88687);
  const Outcome a = plain.execute();
  EdgeSchedule list(run.graph, 1, run.spec.seeds);
  run.spec.seeds = seeds(295658);
  const Outcome b = rotated.execute();
  EdgeSchedule other(run.graph, 1, run.spec.seeds);
  for (int k = 0; k < kEdges; ++k) {
    const DueEdge edge = list.pop(), same = other.pop();
    const int i = turned(same.i), j = turned(same.j);
    REQUIRE(edge.i == std::min(i, j));
    REQUIRE(edge.j == std::max(i, j));
  }
  REQUIRE(a.exchanges_done == kEdges);
  REQUIRE(b.exchanges_done == kEdges);
  for (int w = 0; w < kWorkers; ++w) {
    CHECK(b.worker_digests[static_cast<std::size_t>(w)] ==
          a.worker_digests[static_cast<std::size_t>(turned(w))]);
    CHECK(b.worker_digests[static_cast<std::size_t>(w)] !=
          a.worker_digests[static_cast<std::size_t>(w)]);
  }
}

}  // namespace acid::test
