// Every method of the catalog, executed by the loops of semantics.hpp and by the virtual driver.
#include "tests/drivers/semantics.hpp"

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test {
namespace {

LoopResult by_loop(Setup& setup) {
  LoopResult result;
  setup.with_run(1, {}, [&](const Run& run) {
    const Method& method = run.spec.method;
    result = method.has_meetings() ? meetings_loop(run, setup.virtual_time)
             : method.has_server() ? server_loop(run, setup.virtual_time)
                                   : rounds_loop(run);
  });
  return result;
}

void compare(const std::function<void(Setup&)>& prepare) {
  Setup loop, driver;
  prepare(loop);
  prepare(driver);
  const LoopResult expected = by_loop(loop);
  const Outcome outcome = driver.run();
  CHECK(outcome.worker_digests == expected.digests);
  CHECK(outcome.position.gradients == expected.gradients);
  CHECK(outcome.position.bytes == expected.bytes);
  if (driver.spec.method.is_asynchronous()) CHECK(outcome.exchanges_done == expected.exchanges);
}

/// Every worker has its own data and its own pace.
void uneven(Setup& setup) {
  setup.task = {{"dimension", 17}, {"noise", 0.2}, {"heterogeneity", 1.0}};
  setup.spec.schedule.learning_rate = 0.02;
  setup.spec.budget.gradients = 8 * 40;
  setup.virtual_time.compute.kind = ComputeKind::lognormal;
  setup.virtual_time.compute.parameter = 0.5;
}

}  // namespace

TEST_CASE("every method ends with the bits of the loop that says what a run does") {
  for (const AlgorithmEntry& entry : algorithm_catalog())
    for (const double latency : {0.0, 0.3})
      for (const bool coded : {false, true}) {
        INFO(entry.name << ", messages that take " << latency << (coded ? ", lattice" : ""));
        compare([&](Setup& setup) {
          uneven(setup);
          setup.entry = &entry;
          setup.virtual_time.network.link.latency_seconds = latency;
          if (coded)
            setup.codec = {
                {"kind", "lattice"}, {"bits", 4}, {"spacing", 0.05}, {"error_feedback", false}};
        });
      }
}

TEST_CASE("a server knows the rate of what a worker says before its first gradient") {
  const auto digests = [](const char* step, bool on_threads) {
    std::vector<Finding> findings;
    const auto listing = read_listing({{"name", "says-first"},
                                       {"peers", "server"},
                                       {"round", "say gradient step hear"},
                                       {"hear", "x = x + 0.5 * (theirs(0) - mine(0))"},
                                       {"server", {{"hear", step}}}},
                                      findings);
    for (const Finding& finding : findings) UNSCOPED_INFO(finding.message);
    REQUIRE(listing.has_value());
    Setup setup;
    uneven(setup);
    setup.entry = &listed_entry(*listing);
    setup.on_threads = on_threads;
    setup.workers = on_threads ? 1 : 8;
    setup.spec.budget.gradients = 4 * setup.workers;
    return setup.run().worker_digests;
  };
  for (const bool on_threads : {false, true})
    CHECK(digests("x = x + lr * (theirs(0) - x + 1)", on_threads) ==
          digests("x = x + 0.02 * (theirs(0) - x + 1)", on_threads));
}

TEST_CASE("workers that the throttle holds do what the loop of meetings says") {
  compare([](Setup& setup) {
    uneven(setup);
    setup.algorithm = "a2cid2";
    setup.options = {{"communication_rate", 2.0}};
    setup.spec.max_backlog = 1;
    setup.virtual_time.compute.slow_factors = {1, 1, 1, 1, 1, 1, 1, 4};
    setup.virtual_time.network.link.latency_seconds = 0.6;
  });
}

}  // namespace acid::test
