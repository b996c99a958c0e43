#include "tests/drivers/mpi_fixture.hpp"

#include <thread>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"

namespace acid::test {

Outcome Processes::run(MemoryRecorder& recorder, const Checkpointing& checkpointing,
                       std::stop_token stop) {
  const auto n = static_cast<std::size_t>(spec.workers);
  LocalCluster cluster(spec.workers, windows);
  options.resize(n);
  for (MpiOptions& each : options) each.goes_on = goes_on;
  if (before) before(cluster);
  errors.assign(n, "");
  Outcome outcome;
  MemoryRecorder nobody;  // the others must not use it
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < n; ++r)
    threads.emplace_back([&, r] {
      const int rank = static_cast<int>(r);
      try {
        const auto own_objective =
            objective ? objective(rank)
                      : with(before_gradient,
                             quadratic(task, spec.workers, spec.seeds, rank == 0 ? 2 : 1));
        options[r].transport = &cluster.at(rank);
        Checkpointing own_checkpointing = rank == 0 ? checkpointing : Checkpointing{};
        if (look_first) own_checkpointing.look_first = [&, rank] { look_first(rank); };
        Outcome own = run_mpi({spec, *own_objective, rank == 0 ? recorder : nobody,
                               own_checkpointing, rank == asks_to_stop ? stop : std::stop_token()},
                              options[r]);
        if (rank == 0) outcome = std::move(own);
        cluster.at(rank).leave();
      } catch (const std::exception& error) {
        errors[r] = error.what();
        ++lost;
        cluster.kill(rank);  // as the end of its process would
      }
    });
  if (meanwhile) meanwhile(cluster);
  for (std::thread& thread : threads) thread.join();
  floats_sent.clear();
  for (int rank = 0; rank < spec.workers; ++rank) floats_sent.push_back(cluster.floats_sent(rank));
  return outcome;
}

Outcome run_as_processes(Setup& setup) {
  Outcome outcome;
  setup.with_run(1, {}, [&](const Run& run) {
    Processes processes{.spec = run.spec, .task = setup.task};
    processes.before_gradient = setup.before_gradient;
    outcome = processes.run(setup.recorder);
    check_no_errors(processes);
  });
  return outcome;
}

void check_no_errors(const Processes& processes) {
  for (const std::string& error : processes.errors) CHECK(error == "");
}

ReplayScript script(const MemoryRecorder& recorder, int workers) {
  ReplayScript events = script_of(recorder, workers);
  events.shared_clock = false;
  return events;
}

void check_replays(Replayable& run, const MemoryRecorder& recorder, const Outcome& recorded) {
  MemoryRecorder again;
  const Outcome replayed = run.replay(script(recorder, run.spec.workers), again);
  CHECK(replayed.ending == recorded.ending);
  CHECK(replayed.message == recorded.message);
  CHECK(replayed.worker_digests == recorded.worker_digests);
  CHECK(replayed.mean_digest == recorded.mean_digest);
  CHECK(replayed.worker_gradients == recorded.worker_gradients);
  CHECK(replayed.exchanges_done == recorded.exchanges_done);
  CHECK(replayed.position.gradients == recorded.position.gradients);
  CHECK(replayed.position.bytes == recorded.position.bytes);
  CHECK(difference(again, recorder, run.spec.workers) == "");
  CHECK(other_series(again, recorder) == "");
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  std::int64_t total = 0;
  for (const std::int64_t value : values) total += value;
  return total;
}

}  // namespace acid::test
