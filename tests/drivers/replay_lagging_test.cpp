// Runs in which every worker has a clock of its own, like processes.
#include "tests/drivers/replay_lagging.hpp"

#include <algorithm>

#include "tests/catch.hpp"

using namespace acid;
using test::check_same_end;
using test::CheckpointFolder;
using test::LaggingRun;
using test::MemoryRecorder;
using test::other_series;
using test::Replayable;

namespace {

ReplayScript lagging_script(const MemoryRecorder& recorder, int workers) {
  ReplayScript script = script_of(recorder, workers);
  script.shared_clock = false;
  return script;
}

/// Records what `seed` draws and replays it on one thread and on three.
void check_replay(Replayable& run, std::uint64_t seed) {
  MemoryRecorder recorder;
  LaggingRun lagging(run, seed, recorder);
  const Outcome recorded = lagging.finish();
  REQUIRE(recorded.ending == Ending::finished);
  CHECK(lagging.repeated() > 0);
  CHECK(recorded.exchanges_done > 0);
  for (const int threads : {1, 3}) {
    MemoryRecorder again;
    check_same_end(run.replay(lagging_script(recorder, run.spec.workers), again, threads),
                   recorded);
    CHECK(difference(again, recorder, run.spec.workers) == "");
    CHECK(other_series(again, recorder) == "");
  }
}

}  // namespace

TEST_CASE("replay: clocks that lag and exchanges that overlap give the recorded bits") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    for (const int workers : {2, 3, 5, 8}) {
      INFO("seed " << seed << ", n = " << workers);
      Replayable run({.algorithm = seed % 3 == 0 ? "ad-psgd" : "a2cid2",
                      .workers = workers,
                      .rate = seed % 2 == 0 ? 1.0 : 4.0,
                      .gradients = 400,
                      .dimension = 33,
                      .seed = seed});
      run.spec.cadence = {.consensus_every = 3, .evaluate_every = 10};
      if (seed % 4 == 0) {
        run.spec.optimizer.kind = OptimizerKind::adam;
        run.spec.schedule.learning_rate = 0.005;
      }
      check_replay(run, seed);
    }
}

TEST_CASE("replay: a partner's next offer may come before this worker applies") {
  Replayable run({.workers = 8, .rate = 4, .gradients = 3000, .dimension = 65});
  MemoryRecorder recorder, again;
  LaggingRun lagging(run, 1, recorder);
  const Outcome recorded = lagging.finish();
  CHECK(lagging.overtaken() > 100);
  check_same_end(run.replay(lagging_script(recorder, 8), again, 4), recorded);
  CHECK(difference(again, recorder, 8) == "");
}

TEST_CASE("replay: lagging clocks go on from any checkpoint, the recorded run's or its own") {
  Replayable run({.workers = 4, .gradients = 1000, .dimension = 40});
  run.spec.cadence = {.consensus_every = 7, .evaluate_every = 21};
  CheckpointFolder then(40), now(1);
  MemoryRecorder recorder, again;
  const Outcome recorded = LaggingRun(run, 5, recorder, {.checkpoints = &then}).finish();
  ReplayScript script = lagging_script(recorder, 4);
  check_same_end(run.replay(script, again, 2, {.checkpoints = &now}), recorded);
  REQUIRE(then.saved().size() >= 3);
  REQUIRE(now.saved().size() == then.saved().size());
  for (std::size_t k = 0; k < then.saved().size(); ++k) {
    INFO("checkpoint " << k + 1);
    const CheckpointFolder::Saved& a = then.saved()[k];
    const CheckpointFolder::Saved& b = now.saved()[k];
    CHECK(b.step == a.step);
    CHECK(b.position.gradients == a.position.gradients);
    CHECK(b.position.normalised_time == a.position.normalised_time);
    CHECK(b.position.bytes == a.position.bytes);
    CHECK(b.digests == a.digests);
    script.marks_before = static_cast<int>(k) + 1;
    for (const std::string& path : {a.path, b.path}) {
      const CheckpointFile file(path);
      MemoryRecorder rest;
      rest.events_may_start_late();
      check_same_end(run.replay(script, rest, 2, {.resume = &file}), recorded);
      // Its report ends where the record ends.
      for (int w = 0; w < 4; ++w) {
        const std::vector<Event>& end = rest.events_of(w);
        const std::vector<Event>& all = recorder.events_of(w);
        CHECK(std::equal(end.rbegin(), end.rend(), all.rbegin(), [](auto& e, auto& f) {
          return e.kind == f.kind && e.time == f.time && e.fingerprint == f.fingerprint;
        }));
      }
      const test::Series& distances = rest.series("consensus_distance");
      const test::Series& whole = recorder.series("consensus_distance");
      REQUIRE(distances.size() <= whole.size());
      CHECK(test::same_points(distances.begin(), distances.end(),
                              whole.end() - static_cast<std::ptrdiff_t>(distances.size()),
                              whole.end()));
    }
  }
}

TEST_CASE("replay: lagging clocks of a run that broke off lead as far as there are events") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Replayable run({.workers = 4, .rate = 3, .gradients = 500, .dimension = 20});
    MemoryRecorder recorder, again;
    LaggingRun(run, seed, recorder).break_off_after(200);
    ReplayScript script = lagging_script(recorder, 4);
    CHECK(run.replay(script, again, 2, {}, false).ending == Ending::stopped);
    CHECK(difference(again, recorder, 4) == "");
    // Fewer events arrived from some processes than from others, so clocks count unseen commits.
    Stream random(Seeds(seed).derived(Purpose::data_order, 0));
    for (auto& events : script.workers) events.resize(1 + random.below(events.size()));
    MemoryRecorder part;
    CHECK(run.replay(script, part, 2, {}, false).ending == Ending::stopped);
    for (int w = 0; w < 4; ++w) {
      const std::vector<Event>& events = part.events_of(w);
      REQUIRE(events.size() <= script.workers[static_cast<std::size_t>(w)].size());
      CHECK(events.back().fingerprint == recorder.events_of(w)[events.size() - 1].fingerprint);
    }
  }
}

TEST_CASE("replay: a run with lagging clocks diverges again, as it did") {
  int by_loss = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Replayable run({.algorithm = seed % 2 == 0 ? "ad-psgd" : "a2cid2", .seed = seed});
    run.spec.schedule.learning_rate = 1000;
    run.spec.cadence.consensus_every = seed % 3 == 0 ? 0.5 : 4;
    MemoryRecorder recorder, again;
    const Outcome recorded = LaggingRun(run, seed, recorder).finish();
    REQUIRE(recorded.ending == Ending::diverged);
    by_loss += recorded.message.find("the loss of") == 0;
    const Outcome replayed = run.replay(lagging_script(recorder, 3), again);
    CHECK(replayed.ending == Ending::diverged);
    CHECK(replayed.message == recorded.message);
    CHECK(replayed.position.gradients == recorded.position.gradients);
    CHECK(replayed.position.bytes == recorded.position.bytes);
    CHECK(difference(again, recorder, 3) == "");
    CHECK(other_series(again, recorder) == "");
  }
  CHECK(by_loss > 0);
}
