#include "engine/drivers/replay/replay.hpp"

#include <algorithm>
#include <atomic>

#include "engine/base/digest.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/replay_fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::check_same_end;
using test::CheckpointFolder;
using test::comes_true;
using test::MemoryRecorder;
using test::other_series;
using test::Replayable;
using test::same_points;
using test::script_of;
using test::Series;
using test::waiting_for;

namespace {

/// Checks that `later`, from its second point on, is the end of `whole`.
bool continues(const MemoryRecorder& later, const MemoryRecorder& whole,
               const std::string& metric) {
  const Series& all = whole.series(metric);
  const Series& end = later.series(metric);
  return end.size() > 2 && end.size() <= all.size() &&
         same_points(end.begin() + 1, end.end(),
                     all.end() - static_cast<std::ptrdiff_t>(end.size() - 1), all.end());
}

/// One of each kind of asynchronous method, by its name or its entry.
std::vector<Replayable::Settings> kinds() {
  return {{.algorithm = "a2cid2"},
          {.algorithm = "a-psgd"},
          {.entry = &test::served_late()},
          {.entry = &test::served_by_hubs()}};
}

/// Records `run` and replays it on one thread and on two.
void check_replay(Replayable& run) {
  MemoryRecorder recorder;
  const Outcome recorded = run.record(recorder);
  REQUIRE(recorded.ending == Ending::finished);
  for (const int threads : {1, 2}) {
    MemoryRecorder again;
    const Outcome replayed = run.replay(script_of(recorder, run.spec.workers), again, threads);
    check_same_end(replayed, recorded);
    CHECK(difference(again, recorder, run.spec.workers) == "");
    CHECK(other_series(again, recorder) == "");
  }
}

}  // namespace

TEST_CASE("replay: bits, events and samples are those of the recorded run") {
  for (const char* algorithm : {"ad-psgd", "a2cid2"})
    for (const int workers : {2, 3, 8})
      for (const double rate : {1.0, 4.0})
        for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam}) {
          INFO(algorithm << ", n = " << workers << ", r = " << rate << ", adam "
                         << (kind == OptimizerKind::adam));
          Replayable run({.algorithm = algorithm,
                          .workers = workers,
                          .rate = rate,
                          .gradients = 1000,
                          .seed = 7});
          run.spec.optimizer.kind = kind;
          if (kind == OptimizerKind::adam) run.spec.schedule.learning_rate = 0.005;
          check_replay(run);
        }
}

TEST_CASE("replay: bits, events and samples are those of the recorded run with a server") {
  for (Replayable::Settings settings : kinds())
    for (const int workers : {1, 2, 3, 8}) {
      settings.workers = workers;
      settings.gradients = 1000;
      Replayable run(settings);
      if (!run.spec.method.has_server()) continue;
      INFO(run.spec.method.kind << ", n = " << workers);
      run.spec.schedule.learning_rate = 0.01;
      if (workers > 2) run.options.slow_factors.assign(static_cast<std::size_t>(workers), 1);
      if (workers > 2) run.options.slow_factors[1] = 4;
      check_replay(run);
    }
}

TEST_CASE("replay: a worker may come to a server after thousands of messages of others") {
  for (const Replayable::Settings& kind : kinds()) {
    Replayable run(
        {.algorithm = kind.algorithm, .entry = kind.entry, .gradients = 20'000, .dimension = 10});
    if (!run.spec.method.has_server()) continue;
    INFO(run.spec.method.kind);
    run.spec.schedule.learning_rate = 0.01;
    std::atomic<std::int64_t> done = 0;
    run.before_gradient = [&done](int worker, std::int64_t step) {
      if (worker == 0 && step == 10) comes_true([&done] { return done >= 18'000; });
    };
    MemoryRecorder recorder, again;
    recorder.when_progress = [&done](const Position& here) { done = here.gradients; };
    const Outcome recorded = run.record(recorder);
    check_same_end(run.replay(script_of(recorder, 3), again), recorded);
    CHECK(difference(again, recorder, 3) == "");
  }
}

TEST_CASE("replay: a single worker, slow workers and exchange threads") {
  Replayable alone({.algorithm = "ad-psgd", .workers = 1});
  check_replay(alone);

  Replayable uneven({.workers = 4, .rate = 2, .gradients = 600, .dimension = 4 * kLongVector});
  uneven.options.slow_factors = {3, 1, 1, 2};
  check_replay(uneven);

  Replayable helped({.workers = 5, .rate = 3});
  helped.options.exchange_threads = 2;
  check_replay(helped);
}

TEST_CASE("replay: a limit or a target that ended the run is not needed to end it again") {
  Replayable timed({.gradients = 1'000'000'000});
  timed.spec.budget.seconds = 0.2;
  check_replay(timed);

  Replayable aimed({.gradients = 1'000'000'000});
  aimed.spec.budget.target = Budget::Target{"eval_loss", 1.0};
  aimed.spec.cadence.evaluate_every = 5;
  check_replay(aimed);
}

namespace {

void check_goes_on_from_checkpoints(Replayable& run) {
  INFO(run.spec.method.kind);
  run.spec.cadence.evaluate_every = 20;  // so that samples follow a first cut that comes late
  CheckpointFolder then(120), now(1);
  run.before_gradient = waiting_for(then, 640, 3);
  MemoryRecorder recorder, again, unsaved;
  const Outcome recorded = run.record(recorder, {.checkpoints = &then});
  ReplayScript script = script_of(recorder, 4);
  check_same_end(run.replay(script, again, 2, {.checkpoints = &now}), recorded);
  CHECK(difference(again, recorder, 4) == "");
  REQUIRE(then.saved().size() >= 3);
  REQUIRE(now.saved().size() == then.saved().size());
  for (std::size_t k = 0; k < then.saved().size(); ++k) {
    CHECK(now.saved()[k].step == then.saved()[k].position.gradients);
    CHECK(now.saved()[k].position.bytes == then.saved()[k].position.bytes);
    CHECK(now.saved()[k].digests == then.saved()[k].digests);
  }
  // A replay without cuts is allowed.
  check_same_end(run.replay(script, unsaved), recorded);
  CHECK(difference(unsaved, recorder, 4) == "");
  for (const CheckpointFolder* folder : {&then, &now})
    for (std::size_t k = 0; k < folder->saved().size(); ++k) {
      INFO("checkpoint " << k + 1);
      const CheckpointFile file(folder->saved()[k].path);
      script.marks_before = static_cast<int>(k) + 1;
      MemoryRecorder rest;
      for (int w = 0; w < 4; ++w) {  // the events up to the mark
        const std::vector<Event>& all = recorder.events_of(w);
        int passed = 0;
        const auto end = std::find_if(all.begin(), all.end(), [&](const Event& event) {
          return passed == script.marks_before ||
                 ((passed += event.kind == EventKind::checkpoint) < 0);
        });
        rest.events(w, 0, {all.begin(), end});
      }
      check_same_end(run.replay(script, rest, 1 + static_cast<int>(k % 2), {.resume = &file}),
                     recorded);
      CHECK(difference(rest, recorder, 4) == "");
      if (k > 0) continue;  // enough samples follow the first one
      CHECK(continues(rest, recorder, "consensus_distance"));
      CHECK(continues(rest, recorder, "train_loss"));
      CHECK(continues(rest, recorder, "eval_loss"));
    }
}

}  // namespace

TEST_CASE("replay: every checkpoint mark is a cut with the recorded bits, from which it goes on") {
  for (Replayable::Settings settings : kinds()) {
    settings.workers = 4;
    settings.dimension = kLongVector;
    Replayable run(settings);
    check_goes_on_from_checkpoints(run);
  }
}

TEST_CASE("replay: a checkpoint of another moment is refused") {
  Replayable run({.dimension = kLongVector});
  CheckpointFolder folder(75);
  run.before_gradient = waiting_for(folder, 300, 2);
  MemoryRecorder recorder, again;
  run.record(recorder, {.checkpoints = &folder});
  REQUIRE(folder.saved().size() >= 2);
  const CheckpointFile file(folder.saved()[0].path);
  ReplayScript script = script_of(recorder, 3);
  script.marks_before = 2;
  CHECK_THROWS_AS(run.replay(script, again, 1, {.resume = &file}), BrokenScript);
  script.marks_before = 99;
  CHECK_THROWS_WITH(run.replay(script, again, 1, {.resume = &file}),
                    ContainsSubstring("checkpoint mark"));
}

namespace {

void check_attempts_are_one_run(Replayable& run) {
  INFO(run.spec.method.kind);
  MemoryRecorder recorder;
  CheckpointFolder folder(125);
  Outcome recorded;
  int attempts = 0;
  for (bool over = false; !over; ++attempts) {
    // Every attempt is asked to stop when it has saved once more, and saves as it stops.
    struct Stopping final : Checkpoints {
      explicit Stopping(CheckpointFolder& f) : folder(f) {}
      bool due(std::int64_t step, const Position& at) override { return folder.due(step, at); }
      double next_time() const override { return folder.next_time(); }
      bool has(std::int64_t step) const override { return folder.has(step); }
      void save(const Cut& cut) override {
        folder.save(cut);
        stop.request_stop();
      }
      CheckpointFolder& folder;
      std::stop_source stop;
    } stopping(folder);
    std::unique_ptr<CheckpointFile> last;
    if (attempts > 0) last = std::make_unique<CheckpointFile>(folder.saved().back().path);
    // Two of them go on until they hear of the request to stop, however late that is.
    std::atomic<int> begun = 0;
    run.before_gradient = [&](int, std::int64_t) {
      if (attempts >= 2 || ++begun < 1000) return;
      comes_true([&] { return stopping.stop.stop_requested(); });
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    };
    recorded = run.record(recorder, {.checkpoints = &stopping, .resume = last.get()},
                          stopping.stop.get_token());
    over = recorded.ending != Ending::stopped;
    if (over) continue;
    // The log so far can be replayed as well.
    MemoryRecorder part;
    CheckpointFolder now(1);
    CHECK(run.replay(script_of(recorder, 4), part, 2, {.checkpoints = &now}, false).ending ==
          Ending::stopped);
    CHECK(difference(part, recorder, 4) == "");
    CHECK(now.saved().back().digests == folder.saved().back().digests);
  }
  CHECK(attempts >= 3);
  MemoryRecorder again;
  check_same_end(run.replay(script_of(recorder, 4), again), recorded);
  CHECK(difference(again, recorder, 4) == "");
  CHECK(other_series(again, recorder) == "");
}

}  // namespace

TEST_CASE("replay: a run of several attempts is one run") {
  for (Replayable::Settings settings : kinds()) {
    settings.workers = 4;
    settings.gradients = 4000;
    settings.dimension = kLongVector / 5;
    Replayable run(settings);
    check_attempts_are_one_run(run);
  }
}

TEST_CASE("replay: a run that diverged diverges again, at the same gradient") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Replayable::Settings settings = kinds()[seed % 3];
    settings.seed = seed;
    Replayable run(settings);
    run.spec.schedule.learning_rate = 1000;
    run.spec.cadence.consensus_every = seed % 3 == 0 ? 0.5 : 500;
    MemoryRecorder recorder, again;
    const Outcome recorded = run.record(recorder);
    REQUIRE(recorded.ending == Ending::diverged);
    const Outcome replayed = run.replay(script_of(recorder, 3), again);
    CHECK(replayed.ending == Ending::diverged);
    CHECK(replayed.message == recorded.message);
    CHECK(replayed.position.gradients == recorded.position.gradients);
    CHECK(difference(again, recorder, 3) == "");
  }
}

TEST_CASE("replay: diverging where the recorded run did not ends it") {
  Replayable run({.dimension = kLongVector});
  MemoryRecorder recorder, again;
  run.record(recorder);
  run.spec.schedule.learning_rate = 1000;
  CHECK(run.replay(script_of(recorder, 3), again).ending == Ending::diverged);
  CHECK(again.events_of(0).size() < recorder.events_of(0).size());
}

TEST_CASE("replay: a stop request ends it") {
  Replayable run({});
  MemoryRecorder recorder, again;
  run.record(recorder);
  std::stop_source stop;
  stop.request_stop();
  CHECK(run.replay(script_of(recorder, 3), again, 2, {}, true, stop.get_token()).ending ==
        Ending::stopped);
}

TEST_CASE("replay: a failing gradient ends it with its message") {
  Replayable run({});
  MemoryRecorder recorder, again;
  run.record(recorder);
  // Which worker reaches that depends on the recorded threads; one of them does.
  const auto fail = [](int, std::int64_t step) {
    if (step == 50) throw std::runtime_error("gradient 50");
  };
  const auto failing = test::with(fail, test::quadratic({{"dimension", 100}}, 3, Seeds(1), 2));
  CHECK_THROWS_WITH(run_replay({run.spec, *failing, again}, script_of(recorder, 3), true, 2),
                    "gradient 50");
}
