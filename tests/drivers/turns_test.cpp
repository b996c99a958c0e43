// The costs of exchanges that carry a part, or not everything, or are with all in turn.
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using namespace acid::test;

namespace {

constexpr double kLatency = 0.25, kBandwidth = 1000;  // seconds, bytes per second
constexpr int kLegs = 12;
constexpr std::int64_t kVectorBytes = 4 * 64;

/// Four workers on a ring that all take a second for a gradient.
Outcome run(const char* algorithm, const nlohmann::json& options) {
  Setup setup;
  setup.workers = 4;
  setup.algorithm = algorithm;
  setup.options = options;
  setup.task = {{"dimension", kVectorBytes / 4}};
  setup.virtual_time.network.link = {.latency_seconds = kLatency, .bytes_per_second = kBandwidth};
  setup.virtual_time.compute.kind = ComputeKind::constant;
  setup.spec.budget.gradients = kLegs * setup.workers;
  return setup.run();
}

double reduce_seconds(double bytes) {
  return NetworkModel{{kLatency, kBandwidth}, {}, AllReduceKind::ring}.all_reduce_seconds(4, bytes);
}

}  // namespace

TEST_CASE("a fragment occupies links for its own bytes") {
  const Outcome outcome = run("streaming-diloco", {{"steps", 1}, {"delay", 0}, {"fragments", 4}});
  CHECK(outcome.position.bytes == kLegs * 2 * 3 * kVectorBytes / 4);
  CHECK(outcome.position.seconds == Approx(kLegs * (1 + reduce_seconds(kVectorBytes / 4.0))));
}

TEST_CASE("a fragment that travels beside gradients costs no time if it is fast enough") {
  const Outcome outcome = run("streaming-diloco", {{"steps", 4}, {"delay", 3}, {"fragments", 2}});
  REQUIRE(reduce_seconds(kVectorBytes / 2.0) < 3);
  CHECK(outcome.position.bytes == kLegs / 4 * 2 * 3 * kVectorBytes / 2);
  CHECK(outcome.position.seconds == Approx(kLegs));
}

TEST_CASE("messages that are not sent cost neither bytes nor time, latency included") {
  const Outcome outcome = run("des-loc", {{"steps", 2}, {"steps_m", 3}, {"steps_v", 6}});
  const int models = kLegs / 2, moments = kLegs / 3, both = kLegs / 6;  // m, and m with v
  CHECK(outcome.position.bytes == (models + moments + both) * 2 * 3 * kVectorBytes);
  CHECK(outcome.position.seconds == Approx(kLegs + models * reduce_seconds(kVectorBytes) +
                                           (moments - both) * reduce_seconds(kVectorBytes) +
                                           both * reduce_seconds(2.0 * kVectorBytes)));
}

TEST_CASE("an exchange with all in turn is an all-reduce") {
  const Outcome outcome = run("gossip-pga", {{"period", 3}});
  const int reduced = kLegs / 3, gossiped = kLegs - reduced;
  CHECK(outcome.position.bytes == gossiped * 4 * 2 * kVectorBytes + reduced * 2 * 3 * kVectorBytes);
  CHECK(outcome.position.seconds == Approx(kLegs + reduced * reduce_seconds(kVectorBytes) +
                                           gossiped * (kLatency + 2 * kVectorBytes / kBandwidth)));
}
