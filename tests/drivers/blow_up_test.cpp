// CORRECTNESS 43: workers that blow up have diverged, for any loss at a mean in which they cancel.
#include "engine/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test {
namespace {

/// All workers' optimum is 0, and so is their mean's. `rate` 2.05: the mean's factor per step is
/// −1.05, that of the ring's fastest mode −2.38.
Outcome descend(double rate, int gradients, const char* algorithm, bool on_threads,
                double heterogeneity = 0) {
  Setup setup;
  setup.algorithm = algorithm;
  setup.on_threads = on_threads;
  setup.options = with_fallbacks(find_algorithm(algorithm)->fields, nlohmann::json::object());
  setup.task = {{"dimension", 16}, {"noise", 0.1}, {"heterogeneity", heterogeneity}};
  setup.spec.schedule.learning_rate = rate;
  setup.spec.budget.gradients = std::int64_t{gradients} * setup.workers;
  setup.spec.cadence.consensus_every = gradients;
  return setup.run();
}

}  // namespace

TEST_CASE("CORRECTNESS 43: workers that blow up have diverged, though their mean does not") {
  for (const bool on_threads : {false, true})
    for (const char* algorithm : {"d-psgd", "diging"}) {
      INFO(algorithm << (on_threads ? " on threads" : ""));
      const Outcome soon = descend(2.05, 40, algorithm, on_threads);
      CHECK(soon.ending == Ending::diverged);
      CHECK_THAT(soon.message, ContainsSubstring("the consensus distance is"));
      const Outcome late = descend(2.05, 100, algorithm, on_threads);
      CHECK(late.ending == Ending::diverged);
      CHECK_THAT(late.message, ContainsSubstring("the loss of worker"));
    }
}

TEST_CASE("workers that stay apart have not diverged, though their mean is at the optimum") {
  for (const double heterogeneity : {0.0, 1.0, 100.0}) {
    INFO("heterogeneity " << heterogeneity);
    CHECK(descend(0.1, 300, "d-psgd", false, heterogeneity).ending == Ending::finished);
  }
}

}  // namespace acid::test
