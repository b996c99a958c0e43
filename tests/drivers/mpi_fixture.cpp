#include "tests/drivers/mpi_fixture.hpp"

#include <thread>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"

namespace acid::test {

Outcome Processes::run(MemoryRecorder& recorder, const Continuity& continuity,
                       std::stop_token stop) {
  const auto n = static_cast<std::size_t>(spec.workers);
  LocalCluster cluster(spec.workers, windows);
  options.resize(n);
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
        Outcome own = run_mpi(spec, options[r], *own_objective, rank == 0 ? recorder : nobody,
                              rank == 0 ? continuity : Continuity{}, cluster.at(rank),
                              SteadyClock(), rank == asks_to_stop ? stop : std::stop_token());
        if (rank == 0) outcome = std::move(own);
        cluster.at(rank).leave();
      } catch (const std::exception& error) {
        errors[r] = error.what();
        cluster.kill(rank);  // as the end of its process would
      }
    });
  if (meanwhile) meanwhile(cluster);
  for (std::thread& thread : threads) thread.join();
  return outcome;
}

void check_no_errors(const Processes& processes) {
  for (const std::string& error : processes.errors) CHECK(error == "");
}

}  // namespace acid::test
