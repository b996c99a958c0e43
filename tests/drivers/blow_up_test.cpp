// CORRECTNESS 43: workers that blow up have diverged, for any loss at a mean in which they cancel.
#include "engine/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"

namespace acid::test {
namespace {

/// All workers' optimum is 0, and so is their mean's. `rate` 2.05: the mean's factor per step is
/// −1.05, that of the ring's fastest mode −2.38.
Outcome descend(double rate, int gradients, const char* algorithm, const std::string& driver,
                double heterogeneity = 0) {
  Setup setup;
  setup.algorithm = algorithm;
  setup.on_threads = driver == "threads";
  setup.options = with_fallbacks(find_algorithm(algorithm)->fields, nlohmann::json::object());
  setup.task = {{"dimension", 16}, {"noise", 0.1}, {"heterogeneity", heterogeneity}};
  setup.spec.schedule.learning_rate = rate;
  setup.spec.budget.gradients = std::int64_t{gradients} * setup.workers;
  setup.spec.cadence.consensus_every = gradients;
  return driver == "mpi" ? run_as_processes(setup) : setup.run();
}

}  // namespace

TEST_CASE("CORRECTNESS 43: workers that blow up have diverged, though their mean does not") {
  for (const char* driver : {"virtual", "threads", "mpi"})
    for (const char* algorithm : {"d-psgd", "diging"}) {
      INFO(algorithm << " on " << driver);
      const Outcome soon = descend(2.05, 40, algorithm, driver);
      CHECK(soon.ending == Ending::diverged);
      CHECK_THAT(soon.message, ContainsSubstring("the consensus distance is"));
      const Outcome late = descend(2.05, 100, algorithm, driver);
      CHECK(late.ending == Ending::diverged);
      CHECK_THAT(late.message, ContainsSubstring("the loss of worker"));
    }
}

TEST_CASE("workers that stay apart have not diverged, though their mean is at the optimum") {
  for (const double heterogeneity : {0.0, 1.0, 100.0}) {
    INFO("heterogeneity " << heterogeneity);
    CHECK(descend(0.1, 300, "d-psgd", "virtual", heterogeneity).ending == Ending::finished);
  }
}

}  // namespace acid::test
