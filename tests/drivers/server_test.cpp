// Methods with a server, under every driver.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/digest.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/drivers/take_turns.hpp"

using namespace acid;
using test::Setup;

namespace {

constexpr int kWorkers = 8;

Setup& a_psgd(Setup& setup, int workers = kWorkers) {
  setup.algorithm = "a-psgd";
  setup.workers = workers;
  setup.task = {{"dimension", 7}, {"noise", 0.3}, {"heterogeneity", 1.0}};
  setup.spec.schedule.kind = ScheduleKind::cosine;
  setup.spec.schedule.learning_rate = 0.02;
  setup.spec.budget.gradients = 20 * workers;
  return setup;
}

/// The server's model after `rounds` gradients of every worker, which come in turn.
std::vector<float> in_turn(const Setup& setup, int rounds, bool staleness_aware) {
  const int n = setup.workers;
  const auto objective = test::quadratic(setup.task, n, Seeds(setup.seed), 1);
  std::vector<float> server(objective->dimension()), g(server.size());
  objective->start(0, server, {});
  std::vector<std::vector<float>> models(static_cast<std::size_t>(n), server);
  Position here;
  for (int round = 0; round < rounds; ++round)
    for (int w = 0; w < n; ++w) {
      std::vector<float>& x = models[static_cast<std::size_t>(w)];
      objective->gradient(0, w, round, x, {}, g);
      ++here.gradients;
      const int stale = round == 0 ? w : n - 1;
      const double divisor = staleness_aware ? std::max(1, stale) : 1;
      const auto rate = static_cast<float>(setup.spec.learning_rate(here) / divisor);
      for (std::size_t k = 0; k < server.size(); ++k) server[k] -= rate * g[k];
      x = server;
    }
  return server;
}

}  // namespace

TEST_CASE("CORRECTNESS 23: equal speeds give A-PSGD the staleness n - 1, but for the first round") {
  for (const bool aware : {false, true}) {
    Setup setup;
    a_psgd(setup).options = {{"staleness_aware", aware ? 1.0 : 0.0}};
    const Outcome outcome = setup.run();
    REQUIRE(outcome.staleness.size() == kWorkers);
    for (int stale = 0; stale < kWorkers; ++stale)
      CHECK(outcome.staleness[static_cast<std::size_t>(stale)] ==
            (stale < kWorkers - 1 ? 1 : 1 + 19 * kWorkers));
    // The values that the server itself reads, in every step.
    CHECK(outcome.mean == in_turn(setup, 20, aware));
    CHECK(outcome.mean != in_turn(setup, 20, !aware));
  }
}

TEST_CASE("CORRECTNESS 23: with one worker A-PSGD is SGD exactly") {
  Setup sgd;
  a_psgd(sgd, 1).algorithm = "ar-sgd";
  const Outcome plain = sgd.run();
  for (const double latency : {0.0, 0.3})
    for (const double aware : {0.0, 1.0}) {
      Setup setup;
      a_psgd(setup, 1).virtual_time.network.link.latency_seconds = latency;
      setup.options = {{"staleness_aware", aware}};
      const Outcome outcome = setup.run();
      CHECK(outcome.mean_digest == plain.mean_digest);
      CHECK(outcome.worker_digests == plain.worker_digests);
      CHECK(outcome.position.seconds == Approx(20 + 19 * 2 * latency));
    }
}

// Gradients take a second, messages 0.1 s and a quarter of the link's time: 1 + 0.35, 1 + 0.6 at
// the server, back at 1.7 and 1.95.
TEST_CASE("what is said to a server shares its link, and so do its replies") {
  Setup setup;
  a_psgd(setup, 2).virtual_time.network.link = {0.1, 4.0 * 7 / 0.25};
  setup.spec.budget.gradients = 3;
  CHECK(setup.run().position.seconds == Approx(2.7));
  Setup longer;
  a_psgd(longer, 2).virtual_time.network.link = {0.1, 4.0 * 7 / 0.25};
  longer.spec.budget.gradients = 4;
  const Outcome outcome = longer.run();
  CHECK(outcome.position.seconds == Approx(2.95));
  CHECK(outcome.worker_idle_seconds[0] == Approx(0.7 + 0.25));
  CHECK(outcome.worker_idle_seconds[1] == Approx(0.95));
}

TEST_CASE("a message and its reply are counted as sent, the message packed") {
  for (const bool packed : {false, true}) {
    Setup setup;
    a_psgd(setup).algorithm = "async-diloco";
    setup.options = {{"steps", 5}};
    if (packed) setup.codec = {{"kind", "bf16"}, {"error_feedback", false}};
    const Outcome outcome = setup.run();
    CHECK(outcome.position.bytes == 4 * kWorkers * (7 * 4 + (packed ? 16 : 7 * 4)));
    const Topology ring = make_topology(kWorkers, {{"kind", "ring"}});
    CHECK(bytes_sent(setup.spec.method, ring, 20.0 * kWorkers, 7 * 4.0) ==
          Approx(static_cast<double>(outcome.position.bytes)));
  }
}

TEST_CASE("by speed a slow worker takes fewer steps, and all come to the server equally often") {
  for (const double dylu : {0.0, 1.0}) {
    Setup setup;
    a_psgd(setup, 4).algorithm = "async-diloco";
    setup.options = {{"steps", 8}, {"dylu", dylu}};
    setup.virtual_time.compute.slow_factors = {1, 4, 2, 100};
    setup.virtual_time.network.link.latency_seconds = 0.01;
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.seconds = 200.5 * (8 + 0.02);
    const Outcome outcome = setup.run();
    const double steps[] = {8, dylu == 0 ? 8.0 : 2.0, dylu == 0 ? 8.0 : 4.0, dylu == 0 ? 8.0 : 1.0};
    for (std::size_t w = 0; w < 4; ++w) {
      const double took = steps[w] * setup.virtual_time.compute.slow_factors[w] + 0.02;
      const double replies = static_cast<double>(outcome.worker_gradients[w]) / steps[w];
      INFO("worker " << w << ", dylu " << dylu);
      CHECK(std::abs(replies - setup.spec.budget.seconds / took) <= 1);
      if (dylu == 1 && w < 3) CHECK(replies == Approx(200.5).margin(1));
    }
    const Topology ring = make_topology(4, {{"kind", "ring"}});
    const auto gradients = static_cast<double>(outcome.position.gradients);
    CHECK(bytes_sent(setup.spec.method, ring, gradients, 7 * 4.0) ==
          Approx(static_cast<double>(outcome.position.bytes)).epsilon(0.02));
  }
}

TEST_CASE("by speed a slow worker's messages follow fewer steps on threads too") {
  Setup setup;
  a_psgd(setup, 2).algorithm = "async-diloco";
  setup.options = {{"steps", 8}, {"dylu", 1}};
  setup.on_threads = true;
  setup.threads.slow_factors = {1, 4};
  setup.spec.keep_events = true;
  setup.run();
  for (const int w : {0, 1}) {
    int steps = 0, messages = 0;
    for (const Event& event : setup.recorder.events_of(w)) {
      if (event.kind == EventKind::commit_gradient) ++steps;
      if (event.kind == EventKind::offer) ++messages;
    }
    CHECK(messages == steps / (w == 0 ? 8 : 2));
  }
}

TEST_CASE("a paused worker hears what the server answers when its pause is over") {
  Setup setup;
  a_psgd(setup, 2).virtual_time.network.link.latency_seconds = 0.25;
  setup.virtual_time.compute.pauses = {{.worker = 0, .at_seconds = 1.1, .for_seconds = 3}};
  setup.spec.budget.gradients = 8;
  const Outcome outcome = setup.run();
  // Worker 1 alone from 1 s on, every 1.5 s, until worker 0 begins again at 4.1 s.
  CHECK(outcome.worker_gradients == std::vector<std::int64_t>{3, 5});
  CHECK(outcome.position.seconds == Approx(7));
}

TEST_CASE("a worker that pauses before its first gradient leaves the clock of gradients alone") {
  std::vector<Finding> findings;
  const auto listing = read_listing({{"name", "waits first"},
                                     {"peers", "server"},
                                     {"round", "say hear gradient step"},
                                     {"server", {{"hear", "x = 0.5 * x + 0.5 * theirs(0)"}}}},
                                    findings);
  REQUIRE(listing.has_value());
  Setup setup;
  a_psgd(setup, 2).entry = &listed_entry(*listing);
  setup.virtual_time.network.link.latency_seconds = 0.5;
  setup.virtual_time.compute.pauses = {{.worker = 0, .at_seconds = 0.1, .for_seconds = 30}};
  setup.spec.budget.normalised_time = 20;
  const Outcome outcome = setup.run();
  CHECK(outcome.position.gradients >= 38);
  CHECK(outcome.position.gradients <= 42);
}

// Hubs of workers 0, 1 and 2, 3, as in served_by_hubs(), with workers in turn.
TEST_CASE("a hub hears its own workers and, after as many of them as it says, the server above") {
  Setup setup;
  a_psgd(setup, 4).entry = &test::served_by_hubs();
  setup.spec.budget.gradients = 60;
  const auto objective = test::quadratic(setup.task, 4, Seeds(setup.seed), 1);
  const std::size_t d = objective->dimension();
  std::vector<float> above(d), g(d);
  objective->start(0, above, {});
  std::vector<std::vector<float>> hubs(2, above), merged(2, above), models(4, above);
  std::vector<int> heard(2), of_worker(4), above_heard(2);
  Position here;
  int visits = 0;
  const auto f = [](double value) { return static_cast<float>(value); };
  for (int round = 0; round < 15; ++round)
    for (std::size_t w = 0; w < 4; ++w) {
      const std::size_t h = w / 2;
      objective->gradient(0, static_cast<int>(w), round, models[w], {}, g);
      ++here.gradients;
      const int stale = heard[h] - of_worker[w];
      of_worker[w] = ++heard[h];
      for (std::size_t k = 0; k < d; ++k)
        hubs[h][k] -= f(setup.spec.learning_rate(here) / (1 + stale)) * g[k];
      models[w] = hubs[h];
      if (heard[h] % 3 != 0) continue;
      const int late = visits - above_heard[h];
      above_heard[h] = ++visits;
      for (std::size_t k = 0; k < d; ++k) {
        above[k] -= f(0.5 / (1 + late)) * (merged[h][k] - hubs[h][k]);
        merged[h][k] = hubs[h][k] = 0.5f * hubs[h][k] + 0.5f * above[k];
      }
    }
  const Outcome outcome = setup.run();
  CHECK(visits == 20);
  CHECK(outcome.mean == above);
  const auto bytes = static_cast<std::int64_t>(sizeof(float) * d);
  CHECK(outcome.position.bytes == 2 * bytes * (60 + visits));
  CHECK(outcome.staleness == std::vector<std::int64_t>{2, 58});
  const Topology ring = make_topology(4, {{"kind", "ring"}});
  CHECK(bytes_sent(setup.spec.method, ring, 60, static_cast<double>(bytes)) ==
        Approx(static_cast<double>(outcome.position.bytes)));
}

// Gradients take a second, and each hub has two workers. It leaves at the third message, at 2 s,
// for twice 2.5 s, in which it hears the messages until 6 s, and leaves again after three more: at
// 8, 14 and 20 s.
TEST_CASE("a hub goes on while its message is on the way, and leaves again for what comes after") {
  for (const bool slow : {false, true}) {
    Setup setup;
    a_psgd(setup, 4).entry = &test::served_by_hubs();
    setup.spec.budget.gradients = 4 * 20;
    if (slow) setup.virtual_time.network.hubs = LinkCost{2.5, 0};
    const Outcome outcome = setup.run();
    CHECK(outcome.position.seconds == Approx(20));
    const auto bytes = static_cast<std::int64_t>(sizeof(float) * 7);
    const int visits = slow ? 2 * 4 : 2 * 13;
    CHECK(outcome.position.bytes == 2 * bytes * (80 + visits));
  }
}

TEST_CASE("CORRECTNESS 23: workers that take turns have that staleness on threads") {
  Setup setup;
  a_psgd(setup).options = {{"staleness_aware", 1.0}};
  setup.on_threads = true;
  test::TakeTurns turns(kWorkers, 20);
  setup.before_gradient = [&turns](int w, std::int64_t step) { turns.wait(w, step); };
  setup.recorder.when_progress = [&turns](const Position& here) { turns.look(here); };
  const Outcome outcome = setup.run();
  REQUIRE(outcome.staleness.size() == kWorkers);
  for (int stale = 0; stale < kWorkers; ++stale)
    CHECK(outcome.staleness[static_cast<std::size_t>(stale)] ==
          (stale < kWorkers - 1 ? 1 : 1 + 19 * kWorkers));
  CHECK(outcome.mean == in_turn(setup, 20, true));
}

TEST_CASE("with one worker a server's method has the same bits on every driver") {
  for (const char* algorithm : {"a-psgd", "async-diloco"}) {
    Setup simulated, threads;
    for (Setup* const setup : {&simulated, &threads}) {
      a_psgd(*setup, 1).algorithm = algorithm;
      if (setup->algorithm == "async-diloco") setup->options = {{"steps", 5}};
      // A process's clock stands still until a sample is taken, and the learning rate follows it.
      setup->spec.schedule.kind = ScheduleKind::constant;
    }
    threads.on_threads = true;
    const Outcome expected = simulated.run(), outcome = threads.run();
    CHECK(outcome.mean_digest == expected.mean_digest);
    CHECK(outcome.worker_digests == expected.worker_digests);
    CHECK(outcome.position.bytes == expected.position.bytes);
    CHECK(outcome.exchanges_done == expected.exchanges_done);
    CHECK(outcome.staleness == expected.staleness);
    const Topology alone = make_topology(1, {{"kind", "ring"}});
    threads.spec.topology = &alone;
    test::Processes processes{.spec = threads.spec, .task = threads.task};
    test::MemoryRecorder recorder;
    const Outcome of_process = processes.run(recorder);
    check_no_errors(processes);
    CHECK(of_process.mean_digest == expected.mean_digest);
    CHECK(of_process.worker_digests == expected.worker_digests);
    CHECK(of_process.position.bytes == expected.position.bytes);
    CHECK(of_process.staleness == expected.staleness);
  }
}

TEST_CASE("processes with a server go on from a checkpoint, and both attempts are one run") {
  for (const AlgorithmEntry* const entry :
       {find_algorithm("a-psgd"), &test::served_late(), &test::served_by_hubs()}) {
    INFO(entry->name);
    test::Replayable run({.entry = entry, .workers = 3, .gradients = 900});
    run.spec.schedule.learning_rate = 0.01;
    test::CheckpointFolder folder(100);
    test::Processes processes{.spec = run.spec, .task = run.task};
    processes.before_gradient = test::waiting_for(folder, 350, 1);
    test::MemoryRecorder recorder, rest, again, later;
    std::int64_t told = 0;
    recorder.when_progress = [&told](const Position& here) { told = here.bytes; };
    const Outcome whole = processes.run(recorder, {.checkpoints = &folder});
    check_no_errors(processes);
    test::check_replays(run, recorder, whole);
    CHECK(told <= whole.position.bytes);
    if (run.spec.method.hubs)  // visits are among them
      CHECK(told > whole.position.gradients * run.spec.bytes_per_exchange(whole.mean.size()));
    REQUIRE(!folder.saved().empty());

    for (int w = 0; w < 3; ++w) {
      const std::vector<Event>& all = recorder.events_of(w);
      const auto mark = std::ranges::find(all, EventKind::checkpoint, &Event::kind);
      rest.events(w, 0, {all.begin(), mark + 1});
    }
    const CheckpointFile file(folder.saved()[0].path);
    test::Processes resumed{.spec = run.spec, .task = run.task};
    const Outcome outcome = resumed.run(rest, {.resume = &file});
    check_no_errors(resumed);
    ReplayScript script = test::script(rest, 3);
    test::check_same_end(run.replay(script, again), outcome);
    CHECK(test::difference(again, rest, 3) == "");
    script.marks_before = 1;
    later.events_may_start_late();
    test::check_same_end(run.replay(script, later, 2, {.resume = &file}), outcome);
  }
}
