// Scripts written by hand: what workers with clocks of their own may do, and what not.
#include <functional>

#include "engine/topology/edge_schedule.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/replay_fixture.hpp"

using namespace acid;
using test::MemoryRecorder;
using test::Replayable;

namespace {

constexpr int kCommits = 20;             // of each of two workers
constexpr double kEnd = kCommits;        // (commits of all) ÷ n
constexpr std::size_t kFirstCommit = 2;  // after the mark and the first begin_gradient
constexpr std::size_t kOffer = kFirstCommit + kCommits;
constexpr std::size_t kApply = kOffer + 1, kNextOffer = kOffer + 2;

/// Two workers that hear nothing of each other until both have done all their gradients: each
/// counts only its own. All exchanges come at the end.
struct TwoWorkers {
  Replayable run{{.workers = 2, .rate = 0.5, .gradients = 2 * kCommits, .dimension = 8}};
  ReplayScript script;

  TwoWorkers() {
    run.spec.cadence = {.consensus_every = 100, .evaluate_every = 100};
    script.shared_clock = false;
    script.workers.resize(2);
    for (auto& events : script.workers) {
      events.push_back({EventKind::measured, 0});
      events.push_back({EventKind::begin_gradient, 0});
      for (int k = 1; k < kCommits; ++k) events.push_back({EventKind::commit_and_begin, k / 2.0});
      events.push_back({EventKind::commit_gradient, kCommits / 2.0});
    }
    EdgeSchedule edges(run.graph, run.spec.method.rate, run.spec.seeds);
    for (; edges.peek().due <= kEnd; edges.pop())
      for (auto& events : script.workers)
        for (const EventKind kind : {EventKind::offer, EventKind::apply})
          events.push_back({kind, kEnd, edges.peek().number});
    REQUIRE(script.workers[0].size() > kNextOffer + 1);
  }
  std::vector<Event>& events(int w) { return script.workers[static_cast<std::size_t>(w)]; }
  void erase(int w, std::size_t at) {
    events(w).erase(events(w).begin() + static_cast<std::ptrdiff_t>(at));
  }
  void insert(int w, std::size_t at, const Event& event) {
    events(w).insert(events(w).begin() + static_cast<std::ptrdiff_t>(at), event);
  }
  Outcome replay() {
    MemoryRecorder recorder;
    return run.replay(script, recorder);
  }
};

using Edit = std::function<void(TwoWorkers&)>;

void check_broken(const Edit& edit, int worker, std::size_t event, const std::string& words) {
  INFO(words);
  TwoWorkers two;
  edit(two);
  try {
    two.replay();
    FAIL("it was replayed");
  } catch (const BrokenScript& broken) {
    CHECK_THAT(broken.what(), ContainsSubstring(words));
    CHECK(broken.worker() == worker);
    CHECK(broken.event() == static_cast<std::int64_t>(event));
  }
}

}  // namespace

TEST_CASE("replay: clocks may be behind as far as they like") {
  TwoWorkers two;
  const Outcome outcome = two.replay();
  CHECK(outcome.ending == Ending::finished);
  CHECK(outcome.position.gradients == 2 * kCommits);
  CHECK(outcome.position.normalised_time == kEnd);
  CHECK(outcome.worker_gradients == std::vector<std::int64_t>{kCommits, kCommits});
  // One clock would have told the commits apart.
  two.script.shared_clock = true;
  CHECK_THROWS_WITH(two.replay(), ContainsSubstring("number 1 of the run"));
}

TEST_CASE("replay: clocks may stand still while gradients commit") {
  TwoWorkers two;
  const auto digests = two.replay().worker_digests;
  for (const double time : {0.0, 0.5}) {
    for (std::size_t k = 0; k < kCommits; ++k) two.events(1)[kFirstCommit + k].time = time;
    const Outcome still = two.replay();
    CHECK(still.ending == Ending::finished);
    CHECK(still.position.normalised_time == kEnd);
    CHECK(still.worker_digests != digests);
  }
}

TEST_CASE("replay: what a worker had heard by then is in the times of its events") {
  TwoWorkers two;
  const auto digests = two.replay().worker_digests;
  // Worker 0 begins when worker 1 has done everything, and knows it.
  for (std::size_t k = 0; k < kCommits; ++k) two.events(0)[kFirstCommit + k].time += kCommits / 2.0;
  const Outcome later = two.replay();
  CHECK(later.ending == Ending::finished);
  CHECK(later.worker_digests != digests);
  // It cannot know more than that.
  check_broken(
      [](TwoWorkers& t) {
        for (std::size_t k = 0; k < kCommits; ++k)
          t.events(0)[kFirstCommit + k].time += (kCommits + (k + 1 < kCommits)) / 2.0;
      },
      0, kFirstCommit, "that nobody can have committed: 21 before it, and there are 20");
}

TEST_CASE("replay: gradients may begin and commit between offer and apply") {
  TwoWorkers two;
  const auto digests = two.replay().worker_digests;
  // Worker 0 offers before its last gradient: at 20 some worker would have committed that one.
  const auto offer_early = [](TwoWorkers& t) {
    std::swap(t.events(0)[kOffer - 1], t.events(0)[kOffer]);
  };
  check_broken(offer_early, 0, kOffer - 1,
               "that nobody can have committed: 40 before it, and there are 39");
  offer_early(two);
  two.events(0)[kOffer - 1].time = two.events(1)[kOffer].time = kEnd - 0.5;
  two.events(0)[kOffer].time = kEnd;
  const Outcome overlapped = two.replay();
  CHECK(overlapped.ending == Ending::finished);
  CHECK(overlapped.worker_digests != digests);
}

TEST_CASE("replay: a mark may be earlier than commits that lie before it") {
  for (const double time : {kCommits / 2.0, kCommits / 2.0 + 0.5, kEnd}) {
    TwoWorkers two;
    for (int w = 0; w < 2; ++w) two.insert(w, kOffer, {EventKind::measured, time});
    MemoryRecorder recorder;
    CHECK(two.run.replay(two.script, recorder).ending == Ending::finished);
    const auto& points = recorder.series("consensus_distance");
    REQUIRE(points.size() >= 2);
    CHECK(points[1].position.gradients == 2 * kCommits);
    CHECK(points[1].position.normalised_time == time);
    CHECK(points[1].position.bytes == 0);
  }
  const auto marks_at = [](double time) {
    return [time](TwoWorkers& t) {
      for (int w = 0; w < 2; ++w) t.insert(w, kOffer - 1, {EventKind::measured, time});
    };
  };
  check_broken(marks_at(9.75), 0, kOffer - 1, "no multiple of 1/2");
  check_broken(
      [&](TwoWorkers& t) {
        marks_at(19.5)(t);
        for (int w = 0; w < 2; ++w) t.events(w)[kOffer].time = kEnd;
      },
      0, kOffer - 1, "that nobody can have committed: 39 before it, and there are 38");
}

TEST_CASE("replay: offers and applies that cannot be") {
  const auto second = [](TwoWorkers& t) -> std::vector<Event>& { return t.events(1); };
  // Offers.
  check_broken([&](TwoWorkers& t) { second(t).resize(kOffer); }, 0, kOffer, "never comes to");
  check_broken([&](TwoWorkers& t) { second(t)[kOffer].time -= 1; }, 1, kOffer,
               "'offer' at 19, and 'offer' at 20");
  check_broken(
      [&](TwoWorkers& t) {
        t.erase(1, kApply);
        second(t)[kOffer].kind = EventKind::exchange;
      },
      1, kOffer, "'exchange' at 20, and 'offer' at 20");
  check_broken([&](TwoWorkers& t) { t.events(0)[kOffer].exchange ^= 1; }, 0, kOffer,
               "next exchange of this worker");
  check_broken([&](TwoWorkers& t) { t.erase(0, kApply); }, 0, kApply, "another exchange comes");
  check_broken(
      [&](TwoWorkers& t) {
        t.events(0)[kNextOffer].kind = EventKind::exchange;
        t.erase(0, kApply);
      },
      0, kApply, "another exchange comes");
  check_broken(
      [&](TwoWorkers& t) {
        t.insert(0, 1, {EventKind::offer, 0});
      },
      0, 1, "no exchange of this worker is due");
  // Applies.
  check_broken(
      [&](TwoWorkers& t) {
        t.insert(1, 1, {EventKind::apply, 0});
      },
      1, 1, "none has been offered");
  check_broken([&](TwoWorkers& t) { t.insert(1, kApply, second(t)[kApply]); }, 1, kNextOffer,
               "none has been offered");
  check_broken([&](TwoWorkers& t) { second(t)[kApply].exchange ^= 1; }, 1, kApply,
               "the exchange that is offered and not applied is 0");
  check_broken([&](TwoWorkers& t) { second(t).pop_back(); }, 1,
               TwoWorkers().script.workers[1].size() - 1, "is never applied");
  // Marks.
  for (const EventKind kind : {EventKind::measured, EventKind::checkpoint})
    check_broken(
        [&](TwoWorkers& t) {
          for (int w = 0; w < 2; ++w) t.insert(w, kApply, {kind, kEnd});
        },
        0, kApply, "is offered and not applied");
}

TEST_CASE("replay: clocks that cannot be") {
  check_broken([](TwoWorkers& t) { t.events(0)[kFirstCommit].time += 0.25; }, 0, kFirstCommit,
               "no multiple of 1/2");
  check_broken([](TwoWorkers& t) { t.events(1)[kOffer].time = kEnd + 0.5; }, 1, kOffer,
               "the run ends at 20");
  // Both would have to be last.
  check_broken(
      [](TwoWorkers& t) {
        for (int w = 0; w < 2; ++w) t.events(w)[kOffer - 1].time = kEnd;
      },
      0, kOffer - 1, "39 before it, and there are 38");
  // Each waits for a later event of the other.
  check_broken(
      [](TwoWorkers& t) {
        for (int w = 0; w < 2; ++w) t.insert(w, kFirstCommit, {EventKind::checkpoint, 0.5});
      },
      0, kFirstCommit, "1 before it, and there are 0");
}
