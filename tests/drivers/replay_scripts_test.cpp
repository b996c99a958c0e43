// Altered scripts: the fault's place is reported, without a hang or a crash.
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/replay_lagging.hpp"

using namespace acid;
using test::check_same_end;
using test::kLongVector;
using test::LaggingRun;
using test::MemoryRecorder;
using test::other_series;
using test::Replayable;
using test::script_of;

namespace {

std::size_t first_of(const std::vector<Event>& events, EventKind kind) {
  std::size_t from = 0;
  while (events.at(from).kind != kind) ++from;
  return from;
}

/// Counts the exchanges of a worker's events before `end`.
std::size_t exchanges_before(const std::vector<Event>& events, std::size_t end) {
  std::size_t count = 0;
  for (std::size_t k = 0; k < end; ++k) count += events[k].kind == EventKind::exchange;
  return count;
}

struct Place {
  std::size_t worker = 0, event = 0;
};
/// Where the partner of `worker` has the exchange that is its event `at`.
Place partners_place(const MemoryRecorder& recorder, const ReplayScript& script, int worker,
                     std::size_t at) {
  const std::uint64_t exchange = recorder.events_of(worker)[at].exchange;
  for (std::size_t w = 0; w < script.workers.size(); ++w)
    for (std::size_t k = 0; k < script.workers[w].size(); ++k) {
      const Event& event = recorder.events_of(static_cast<int>(w))[k];
      if (static_cast<int>(w) != worker && event.kind == EventKind::exchange &&
          event.exchange == exchange)
        return {w, k};
    }
  throw std::out_of_range("an exchange of one worker");
}

/// Recorded with gradients long enough that the workers' events interleave, replayed with short
/// ones.
struct Recorded {
  Replayable run;
  MemoryRecorder recorder;
  ReplayScript script;
  explicit Recorded(int workers, std::int64_t gradients = 300,
                    const AlgorithmEntry* entry = nullptr)
      : run({.entry = entry,
             .workers = workers,
             .gradients = gradients,
             .dimension = kLongVector}) {
    if (entry != nullptr) run.spec.schedule.learning_rate = 0.01;
    run.record(recorder);
    script = script_of(recorder, workers);
    run.task["dimension"] = 20;
  }
  void check_broken(const ReplayScript& altered, int worker, std::int64_t event,
                    const std::string& words) {
    INFO(words);
    MemoryRecorder again;
    try {
      run.replay(altered, again);
      FAIL("it was replayed");
    } catch (const BrokenScript& broken) {
      CHECK_THAT(broken.what(), ContainsSubstring(words));
      CHECK(broken.worker() == worker);
      if (event >= 0) CHECK(broken.event() == event);
    }
  }
};

/// One change of any kind.
void alter(ReplayScript& script, Stream& random) {
  auto& events = script.workers[random.below(script.workers.size())];
  if (events.empty()) return;
  const std::size_t at = random.below(events.size());
  const std::size_t other = random.below(events.size());
  const auto here = events.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(7)) {
    case 0:
      here->kind = static_cast<EventKind>(random.below(kEventKinds));
      break;
    case 1:
      here->time = events[other].time;
      break;
    case 2:
      here->time = std::ldexp(random.uniform(), static_cast<int>(random.below(2000)) - 1000);
      break;
    case 3:
      std::swap(*here, events[other]);
      break;
    case 4:
      here->exchange ^= 1u << random.below(12);
      break;
    case 5:
      events.erase(here);
      break;
    default: {
      const Event copy = events[other];
      events.insert(here, copy);
    }
  }
}

}  // namespace

TEST_CASE("replay: another time of one exchange is another run") {
  Recorded recorded(4);
  MemoryRecorder again;
  const auto digests = recorded.run.replay(recorded.script, again).worker_digests;
  int altered = 0;
  const std::vector<Event>& events = recorded.script.workers[0];
  for (std::size_t k = 0; k + 1 < events.size() && altered < 5; ++k) {
    // Early ones may be between workers that have not come apart yet.
    if (events[k].kind != EventKind::exchange || events[k].time < 30) continue;
    const auto [w, p] = partners_place(recorded.recorder, recorded.script, 0, k);
    const std::vector<Event>& partner = recorded.script.workers[w];
    if (p + 1 >= partner.size()) continue;
    const double between = events[k].time + 0.125;
    if (events[k + 1].time < between || partner[p + 1].time < between) continue;
    ++altered;
    ReplayScript other = recorded.script;
    other.workers[0][k].time = other.workers[w][p].time = between;
    MemoryRecorder then, never;
    CHECK(recorded.run.replay(other, then).worker_digests != digests);
    // Both partners must have it.
    other.workers[w][p].time = partner[p].time;
    CHECK_THROWS_AS(recorded.run.replay(other, never), BrokenScript);
  }
  CHECK(altered > 0);
}

TEST_CASE("replay: the state machines refuse what cannot happen") {
  // On a busy machine one worker may have exchanged before it began: not the wanted case.
  const auto begins_late = [](const std::vector<Event>& events) {
    return events[first_of(events, EventKind::begin_gradient)].time > 0;
  };
  std::optional<Recorded> made;
  do made.emplace(2);
  while (begins_late(made->script.workers[1]));
  Recorded& recorded = *made;
  const auto altered = [&](int worker, std::size_t at, const std::function<void(Event&)>& change) {
    ReplayScript script = recorded.script;
    change(script.workers[static_cast<std::size_t>(worker)][at]);
    return script;
  };
  const std::vector<Event>& events = recorded.script.workers[1];
  const std::size_t begin = first_of(events, EventKind::begin_gradient);
  const std::size_t commit = first_of(events, EventKind::commit_and_begin);
  const std::size_t exchange = first_of(events, EventKind::exchange);
  const auto number = [](std::size_t at) { return static_cast<std::int64_t>(at); };

  recorded.check_broken(altered(1, begin, [](Event& e) { e.kind = EventKind::commit_gradient; }), 1,
                        number(begin), "none has begun");
  recorded.check_broken(altered(1, commit, [](Event& e) { e.kind = EventKind::begin_gradient; }), 1,
                        number(commit), "has not been committed");
  for (const EventKind kind : {EventKind::apply, EventKind::assign})
    recorded.check_broken(altered(1, begin, [&](Event& e) { e.kind = kind; }), 1, number(begin),
                          event_name(kind));
  recorded.check_broken(altered(1, begin, [](Event& e) { e.kind = EventKind::offer; }), 1,
                        number(begin), "no exchange of this worker is due");
  for (const double time : {-1.0, 1e300, std::numeric_limits<double>::quiet_NaN(), kNever})
    recorded.check_broken(altered(1, commit, [&](Event& e) { e.time = time; }), 1, number(commit),
                          "its time is");
  recorded.check_broken(altered(1, commit, [](Event& e) { e.time += 1e-9; }), 1, number(commit),
                        "multiple of 1/2");
  recorded.check_broken(altered(1, exchange, [](Event& e) { e.exchange ^= 1; }), 1,
                        number(exchange), "next exchange of this worker");
  recorded.check_broken(altered(1, 0, [](Event& e) { e.kind = EventKind::checkpoint; }), 1, 0,
                        "measured");
  recorded.check_broken(altered(1, 0, [](Event& e) { e.time = 0.5; }), 1, 0, "mark");
}

TEST_CASE("replay: what is missing is missed") {
  Recorded recorded(2);
  const auto without = [&](std::size_t worker, EventKind kind) {
    ReplayScript script = recorded.script;
    std::vector<Event>& events = script.workers[worker];
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(first_of(events, kind)));
    return script;
  };
  MemoryRecorder ignored;
  for (const EventKind kind : {EventKind::begin_gradient, EventKind::commit_and_begin,
                               EventKind::exchange, EventKind::measured})
    CHECK_THROWS_AS(recorded.run.replay(without(0, kind), ignored), BrokenScript);

  // Both halves of the last exchange: only the drawn list has it.
  ReplayScript script = recorded.script;
  for (auto& events : script.workers) {
    std::size_t last = 0;
    while (exchanges_before(events, last) < exchanges_before(events, events.size())) ++last;
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(last) - 1);
  }
  recorded.check_broken(script, 0, -1, "is missing");

  script = recorded.script;
  script.workers[1].clear();
  recorded.check_broken(script, 1, 0, "");
  script.workers.pop_back();
  recorded.check_broken(script, 1, 0, "the run has 2");
  script = recorded.script;
  script.workers[0].push_back({EventKind::measured, script.workers[0].back().time});
  CHECK_THROWS_AS(recorded.run.replay(script, ignored), BrokenScript);
}

TEST_CASE("replay: two commits of one number are refused") {
  Recorded recorded(2);
  ReplayScript script = recorded.script;
  // The last commit of worker 0 takes the number of one of worker 1's.
  for (std::size_t k = script.workers[0].size(); k-- > 0;) {
    Event& event = script.workers[0][k];
    if (event.kind != EventKind::commit_and_begin && event.kind != EventKind::commit_gradient)
      continue;
    event.time += event.time < 150 ? 0.5 : -0.5;
    break;
  }
  MemoryRecorder again;
  CHECK_THROWS_AS(recorded.run.replay(script, again), BrokenScript);
}

TEST_CASE("replay: an empty script of a complete run is a run without gradients") {
  Recorded recorded(2);
  MemoryRecorder again;
  const Outcome outcome = recorded.run.replay({.workers = {{}, {}}}, again);
  CHECK(outcome.ending == Ending::finished);
  CHECK(outcome.position.gradients == 0);
}

TEST_CASE("replay: what breaks off is replayed as far as it leads") {
  const AlgorithmEntry* const entry =
      GENERATE(as<const AlgorithmEntry*>(), nullptr, &test::served_late(), &test::served_by_hubs());
  Recorded recorded(4, 600, entry);
  const ReplayScript& whole = recorded.script;
  MemoryRecorder intact;
  recorded.run.replay(whole, intact);
  Stream random(Seeds(3).derived(Purpose::data_order, 0));
  for (int round = 0; round < 50; ++round) {
    INFO(recorded.run.spec.method.kind << ", round " << round);
    ReplayScript script = whole;
    for (auto& events : script.workers) events.resize(1 + random.below(events.size()));
    MemoryRecorder again;
    CHECK(recorded.run.replay(script, again, 1, {}, false).ending == Ending::stopped);
    for (int w = 0; w < 4; ++w) {
      const std::vector<Event>& events = again.events_of(w);
      CHECK(events.size() <= script.workers[static_cast<std::size_t>(w)].size());
      CHECK(events.back().fingerprint == intact.events_of(w)[events.size() - 1].fingerprint);
    }
  }
}

TEST_CASE("replay: offers and applies at one time are the exchange") {
  Recorded recorded(4);
  MemoryRecorder once, twice;
  const Outcome whole = recorded.run.replay(recorded.script, once);
  ReplayScript split = recorded.script;
  for (auto& events : split.workers)
    for (std::size_t k = 0; k < events.size(); ++k)
      if (events[k].kind == EventKind::exchange) {
        events[k].kind = EventKind::offer;
        events.insert(events.begin() + static_cast<std::ptrdiff_t>(k) + 1, events[k]);
        events[++k].kind = EventKind::apply;
      }
  check_same_end(recorded.run.replay(split, twice), whole);
  CHECK(other_series(twice, once) == "");
}

TEST_CASE("replay: scripts altered at random end, one way or the other") {
  for (const AlgorithmEntry* const entry : {static_cast<const AlgorithmEntry*>(nullptr),
                                            &test::served_late(), &test::served_by_hubs()}) {
    Recorded recorded(3, 100, entry);
    std::vector<ReplayScript> scripts{recorded.script};
    if (entry == nullptr) {
      MemoryRecorder late;
      LaggingRun(recorded.run, 1, late).finish();
      scripts.push_back(script_of(late, 3));
      scripts.back().shared_clock = false;
    }
    for (const ReplayScript& whole : scripts) {
      int broken = 0;
      for (std::uint32_t round = 0; round < 1000; ++round) {
        INFO(recorded.run.spec.method.kind << ", round " << round << ", shared clock "
                                           << whole.shared_clock);
        Stream random(Seeds(5).derived(Purpose::data_order, round));
        ReplayScript script = whole;
        const std::uint64_t changes = 1 + random.below(3);
        for (std::uint64_t change = 0; change < changes; ++change) alter(script, random);
        MemoryRecorder again;
        try {
          recorded.run.replay(script, again, 1, {}, random.below(2) == 0);
        } catch (const BrokenScript&) {
          ++broken;
        }
      }
      CHECK(broken > 450);
    }
  }
}
