// How exchanges that take a worker's time slow a simulated run down.
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test {
namespace {

/// A ring of 8 whose edge 0–1 takes `seconds`, and all other messages a tenth of a gradient.
Outcome ring_with_slow_edge(double seconds, double units, GradientClock clock) {
  Setup setup;
  setup.virtual_time.gradient_clock = clock;
  setup.virtual_time.network.link.latency_seconds = 0.1;
  setup.virtual_time.network.edges[{0, 1}] = {seconds, 0};
  setup.spec.budget.gradients = 100'000;
  setup.spec.budget.normalised_time = units;
  return setup.run();
}

}  // namespace

TEST_CASE("a load above 1 slows the whole run down by it, and keeps few exchanges waiting") {
  // Worker 0 exchanges once per unit, half of the time over the slow edge: (8 + 0.1) / 2 units.
  const double load = 4.05;
  for (const GradientClock clock : {GradientClock::duration, GradientClock::poisson}) {
    const Outcome shorter = ring_with_slow_edge(8, 100, clock);
    const Outcome longer = ring_with_slow_edge(8, 400, clock);
    CHECK(longer.position.seconds == Approx(400 * load).epsilon(0.15));
    CHECK(longer.exchanges_done == longer.exchanges_drawn);
    CHECK(longer.exchanges_drawn == Approx(4 * 400).epsilon(0.1));
    // Each worker may have 4 waiting, and a few more become due during a gradient.
    CHECK(shorter.exchanges_waiting < 8 * 6);
    CHECK(longer.exchanges_waiting < 8 * 6);
    CHECK(longer.holds > 0);
  }
}

}  // namespace acid::test
