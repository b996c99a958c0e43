// Workers do not wait for evaluations, nor for samples.
#include <atomic>

#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;

TEST_CASE("mpi: workers finish while an evaluation lasts, and no sample is lost") {
  for (const char* algorithm : {"a2cid2", "d-psgd"})
    for (const bool windows : {true, false}) {
      INFO(algorithm << (windows ? ", windows" : ", messages"));
      Replayable run({.algorithm = algorithm, .workers = 2, .rate = 1, .gradients = 80});
      run.spec.cadence = {.consensus_every = 1, .evaluate_every = 10};
      std::atomic<std::int64_t> gradients{0};
      std::atomic<bool> gave_up{false};
      Processes processes{run.spec, run.task};
      processes.windows = windows;
      // Only rank 0 evaluates. The second of five evaluations lasts until the workers have computed
      // what comes after the third, at most a minute.
      int evaluations = 0;
      const auto wait = [&](EvaluationSet set) {
        if (set == EvaluationSet::test && evaluations++ == 1)
          gave_up = !test::comes_true([&] { return gradients.load() >= 60; });
      };
      processes.objective = [&](int) {
        return test::with([&](int, std::int64_t) { ++gradients; },
                          test::quadratic(run.task, run.spec.workers, run.spec.seeds, 2), wait);
      };
      MemoryRecorder recorder;
      const Outcome outcome = processes.run(recorder);
      check_no_errors(processes);
      CHECK_FALSE(gave_up);
      CHECK(outcome.position.gradients == 80);
      CHECK(recorder.series("consensus_distance").size() == 41);
      CHECK(recorder.series("eval_loss").size() == 5);
    }
}
