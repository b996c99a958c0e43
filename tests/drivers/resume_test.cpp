// Cuts change nothing, and a run that resumes one ends with the same bits.
#include <algorithm>
#include <set>

#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/drivers/replay_fixture.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace {

struct Case {
  const char* name;
  void (*change)(Setup&);
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"ar-sgd", [](Setup& s) { s.algorithm = "ar-sgd"; }},
      {"d-psgd, adapt then combine",
       [](Setup& s) {
         s.algorithm = "d-psgd";
         s.options = {{"order", "adapt-then-combine"}};
       }},
      {"d-psgd, overlapped over a slow network",
       [](Setup& s) {
         s.algorithm = "d-psgd";
         s.virtual_time.network.link.latency_seconds = 0.3;
         s.virtual_time.cost.buckets = 3;
       }},
      {"ar-sgd whose last round would end too late",
       [](Setup& s) {
         s.algorithm = "ar-sgd";
         s.virtual_time.cost = {.optimizer_share = 0.2};
         s.virtual_time.network.link = {0.02, 1e4};
         s.spec.budget.seconds = 128;
       }},
      {"ad-psgd", [](Setup& s) { s.algorithm = "ad-psgd"; }},
      {"a2cid2 with adam",
       [](Setup& s) {
         s.algorithm = "a2cid2";
         s.spec.optimizer.kind = OptimizerKind::adam;
       }},
      {"a2cid2 whose exchanges take time, with pauses and a slow worker",
       [](Setup& s) {
         s.algorithm = "a2cid2";
         s.virtual_time.network.link.latency_seconds = 0.4;
         s.virtual_time.compute.pauses = {{1, 5.0, 4.0}, {2, 30.0, 1.5}};
         s.virtual_time.compute.slow_factors = {1, 1, 3, 1, 1};
       }},
      {"ad-psgd whose throttle holds workers",
       [](Setup& s) {
         s.algorithm = "ad-psgd";
         s.options = {{"communication_rate", 2.0}};
         s.spec.max_backlog = 1;
         s.virtual_time.network.link.latency_seconds = 0.4;
       }},
      {"ad-psgd whose exchanges take its workers' time, with a pause",
       [](Setup& s) {
         s.virtual_time.cost.exchange_seconds = 0.4;
         s.virtual_time.compute.pauses = {{1, 5.0, 4.0}};
       }},
      {"a2cid2 that saturates a network whose exchanges take its workers' time",
       [](Setup& s) {
         s.algorithm = "a2cid2";
         s.options = {{"communication_rate", 4.0}, {"saturate", true}};
         s.virtual_time.network.link.latency_seconds = 0.2;
         s.virtual_time.cost.exchange_seconds = 0.05;
       }},
      {"a2cid2 on the poisson clock",
       [](Setup& s) {
         s.algorithm = "a2cid2";
         s.virtual_time.gradient_clock = GradientClock::poisson;
       }},
      {"ad-psgd on the poisson clock, whose throttle holds workers, with a pause",
       [](Setup& s) {
         s.options = {{"communication_rate", 2.0}};
         s.spec.max_backlog = 1;
         s.virtual_time.gradient_clock = GradientClock::poisson;
         s.virtual_time.network.link.latency_seconds = 0.4;
         s.virtual_time.compute.pauses = {{1, 5.0, 4.0}};
       }},
      {"a2cid2 without gradients",
       [](Setup& s) {
         s.algorithm = "a2cid2";
         s.virtual_time.gradient_clock = GradientClock::none;
         s.spec.budget.normalised_time = 200;
       }},
      {"ad-psgd without gradients, over a slow network",
       [](Setup& s) {
         s.virtual_time.gradient_clock = GradientClock::none;
         s.virtual_time.network.link.latency_seconds = 0.2;
         s.spec.budget.normalised_time = 200;
       }},
  };
  return all;
}

/// A run of one of the cases, or of no case.
struct Noisy : Setup {
  explicit Noisy(const Case* one = nullptr) {
    workers = 5;
    task = {{"dimension", 9}, {"noise", 0.5}, {"heterogeneity", 1.0}, {"initial_spread", 1.0}};
    spec.optimizer.momentum = 0.9;
    spec.budget.gradients = 400;
    spec.cadence.evaluate_every = 7;
    spec.keep_events = true;
    virtual_time.compute.kind = ComputeKind::lognormal;
    virtual_time.compute.parameter = 0.3;
    if (one != nullptr) one->change(*this);
  }
};

void check_same_run(const Setup& a, const Outcome& x, const Setup& b, const Outcome& y) {
  check_same_end(y, x);
  CHECK(x.position.seconds == y.position.seconds);
  CHECK(x.worker_idle_seconds == y.worker_idle_seconds);
  CHECK(x.holds == y.holds);
  CHECK(x.staleness == y.staleness);
  for (const char* metric : {"consensus_distance", "train_loss", "eval_loss", "gradient_norm"}) {
    REQUIRE(a.recorder.has(metric) == b.recorder.has(metric));
    if (a.recorder.has(metric)) CHECK(a.recorder.last(metric) == b.recorder.last(metric));
  }
}

}  // namespace

TEST_CASE("CORRECTNESS 15, 16: virtual runs resume from any cut with the same bits") {
  for (const Case& one : cases())
    for (const int threads : {0, 2}) {
      INFO(one.name << ", " << threads << " threads");
      Noisy plain(&one);
      const Outcome whole = plain.run();
      REQUIRE(whole.ending == Ending::finished);

      CheckpointFolder cuts(17);
      Noisy watched(&one);
      watched.virtual_time.threads = threads;
      watched.checkpointing.checkpoints = &cuts;
      check_same_run(plain, whole, watched, watched.run());
      REQUIRE(cuts.saved().size() >= 4);

      for (const CheckpointFolder::Saved& cut : cuts.saved()) {
        const CheckpointFile from(cut.path);
        Noisy resumed(&one);
        resumed.virtual_time.threads = threads;
        resumed.checkpointing.resume = &from;
        resumed.recorder.events_may_start_late();
        check_same_run(plain, whole, resumed, resumed.run());
      }
    }
}

// As in server_test.cpp: each hub leaves at 2 s, is above at 4.5 s and back at 7 s.
TEST_CASE("virtual runs resume from any moment of a hub's visit with the same bits") {
  const auto setup = [](Setup& one) {
    one.workers = 4;
    one.entry = &served_by_hubs();
    one.virtual_time.compute = {};
    one.virtual_time.network.hubs = LinkCost{2.5, 0};
    one.spec.budget.gradients = 60;
  };
  CheckpointFolder cuts(0.25);
  Noisy plain, watched;
  setup(plain);
  setup(watched);
  const Outcome whole = plain.run();
  REQUIRE(whole.ending == Ending::finished);
  watched.checkpointing.checkpoints = &cuts;
  check_same_run(plain, whole, watched, watched.run());
  int leaving = 0, returning = 0;
  for (const CheckpointFolder::Saved& cut : cuts.saved()) {
    const double seconds = cut.position.seconds;
    leaving += seconds > 2 && seconds < 4.5 ? 1 : 0;
    returning += seconds > 4.5 && seconds < 7 ? 1 : 0;
    INFO("from the cut at " << seconds << " s");
    const CheckpointFile from(cut.path);
    Noisy resumed;
    setup(resumed);
    resumed.checkpointing.resume = &from;
    resumed.recorder.events_may_start_late();
    check_same_run(plain, whole, resumed, resumed.run());
  }
  CHECK(leaving > 0);
  CHECK(returning > 0);
}

TEST_CASE("a stopped virtual run leaves a cut from which it ends with the same bits") {
  for (const Case& one : cases()) {
    INFO(one.name);
    Noisy plain(&one);
    const Outcome whole = plain.run();

    std::string file;
    CheckpointFolder cuts(1e9);
    for (int attempt = 0; attempt < 50; ++attempt) {
      std::stop_source stop;
      std::optional<CheckpointFile> from;
      Noisy part(&one);
      if (!file.empty()) part.checkpointing.resume = &from.emplace(file);
      part.checkpointing.checkpoints = &cuts;
      part.recorder.events_may_start_late();
      part.recorder.stop_after_samples(4, stop);
      const Outcome outcome = part.run(stop.get_token());
      if (outcome.ending == Ending::finished) {
        CHECK(attempt >= 3);
        check_same_run(plain, whole, part, outcome);
        break;
      }
      REQUIRE(outcome.ending == Ending::stopped);
      file = cuts.saved().back().path;
    }
  }
}

TEST_CASE("asynchronous runs on threads go on from a cut and do all that is left, once") {
  for (const int exchange_threads : {0, 2}) {
    const auto prepare = [&](Setup& setup) {
      setup.algorithm = "a2cid2";
      setup.options = {{"communication_rate", 2.0}};
      setup.task["dimension"] = kLongVector;  // long enough for more than one cut
      setup.spec.budget.gradients = 3000;
      setup.spec.max_backlog = 1;
      setup.on_threads = true;
      setup.threads.exchange_threads = exchange_threads;
    };
    CheckpointFolder cuts(40);
    Noisy first;
    prepare(first);
    first.checkpointing.checkpoints = &cuts;
    // The workers wait early for the first cut of the calling thread.
    first.before_gradient = [&](int, std::int64_t step) {
      if (step >= 50 && cuts.count() == 0) comes_true([&] { return cuts.count() > 0; });
    };
    const Outcome whole = first.run();
    CHECK(whole.exchanges_done == whole.exchanges_drawn);
    REQUIRE(!cuts.saved().empty());
    const std::size_t last = cuts.saved().size() - 1;
    for (const std::size_t k : std::set<std::size_t>{0, last / 2, last}) {
      const CheckpointFile from(cuts.saved()[k].path);
      Noisy resumed;
      prepare(resumed);
      resumed.checkpointing.resume = &from;
      resumed.recorder.events_may_start_late();
      const Outcome outcome = resumed.run();
      CHECK(outcome.ending == Ending::finished);
      CHECK(outcome.position.gradients == 3000);
      CHECK(outcome.exchanges_drawn == whole.exchanges_drawn);
      CHECK(outcome.exchanges_done == whole.exchanges_done);
      CHECK(outcome.position.seconds >= cuts.saved()[k].position.seconds);
      std::int64_t committed = 0, used = 0, counted = 0;
      for (const std::int64_t gradients : outcome.staleness) counted += gradients;
      CHECK(counted == 3000);
      for (const std::int64_t gradients : outcome.worker_gradients) committed += gradients;
      for (const EdgeUse& edge : outcome.edges) used += edge.count;
      CHECK(committed == 3000);
      CHECK(used == outcome.exchanges_done);
    }
  }
}

TEST_CASE("a stopped run on threads goes on until it is done") {
  CheckpointFolder cuts(1e9);
  std::string file;
  std::int64_t before = 0;
  for (int attempt = 0; attempt < 200; ++attempt) {
    std::stop_source stop;
    std::optional<CheckpointFile> from;
    Noisy part;
    part.algorithm = "a2cid2";
    part.task["dimension"] = 2000;
    part.spec.budget.gradients = 6000;
    part.on_threads = true;
    part.checkpointing.checkpoints = &cuts;
    if (!file.empty()) part.checkpointing.resume = &from.emplace(file);
    part.recorder.events_may_start_late();
    part.recorder.stop_after_samples(attempt + 1, stop);
    const Outcome outcome = part.run(stop.get_token());
    CHECK(outcome.position.gradients >= before);
    before = outcome.position.gradients;
    if (outcome.ending == Ending::finished) {
      CHECK(outcome.position.gradients == 6000);
      CHECK(outcome.exchanges_done == outcome.exchanges_drawn);
      return;
    }
    file = cuts.saved().back().path;
  }
  FAIL("it never finished");
}

TEST_CASE("a checkpoint of another driver is refused") {
  CheckpointFolder cuts(10);
  Noisy setup;
  setup.checkpointing.checkpoints = &cuts;
  setup.run();
  REQUIRE(!cuts.saved().empty());
  const CheckpointFile from(cuts.saved().front().path);
  Noisy other;
  other.on_threads = true;
  other.checkpointing.resume = &from;
  CHECK_THROWS_WITH(other.run(),
                    ContainsSubstring("virtual-async/7") && ContainsSubstring("--force"));
}

}  // namespace acid::test
