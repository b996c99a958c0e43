// A small model whose messages cost and count what those of a large one would.
#include "engine/methods/method.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using nlohmann::json;
using test::Setup;

namespace {

constexpr int kSmall = 12, kLarge = 5000;

struct Case {
  std::string algorithm;
  json options = json::object();
  json codec = {};
};

/// Every way in which messages travel.
std::vector<Case> cases() {
  const auto with = [](const char* kind, json options = json::object()) {
    options.update({{"kind", kind}, {"error_feedback", false}});
    return options;
  };
  std::vector<Case> all{{"ar-sgd"},
                        {"d-psgd"},
                        {"ad-psgd"},
                        {"a2cid2"},
                        {"sgp"},
                        {"a-psgd"},
                        {"async-diloco", {{"steps", 2}}},
                        {"halos", {{"steps", 2}, {"every", 2}}},
                        {"diloco", {{"steps", 2}, {"fragments", 3}}},
                        {"d-psgd", {{"order", "combine-while-adapt"}}}};
  for (const char* algorithm : {"ar-sgd", "d-psgd", "ad-psgd", "a-psgd"})
    for (const json& codec :
         {with("bf16"), with("sign"), with("top-k", {{"share", 0.1}, {"chunk", 0}}),
          with("random-k", {{"share", 0.1}, {"common", false}})})
      all.push_back({algorithm, json::object(), codec});
  return all;
}

Outcome run_of(const Case& which, int dimension, std::optional<std::size_t> stands_for) {
  Setup setup;
  setup.workers = 4;
  setup.algorithm = which.algorithm;
  setup.options = which.options;
  setup.codec = which.codec;
  setup.task = {{"dimension", dimension}, {"noise", 0.1}};
  setup.spec.schedule.learning_rate = 0.01;
  setup.spec.budget.gradients = 48;
  setup.spec.stands_for = stands_for;
  NetworkModel& network = setup.virtual_time.network;
  network.link = {0.01, 1e5};
  if (which.algorithm != "a-psgd") network.edges[{0, 1}] = {0.02, 3e4};
  setup.virtual_time.cost.first_bucket_bytes = 1024;
  setup.virtual_time.cost.bucket_bytes = 4096;
  return setup.run();
}

}  // namespace

TEST_CASE("a model that stands for a larger one has that one's seconds and bytes") {
  for (const Case& which : cases()) {
    INFO(which.algorithm << " " << which.options.dump() << " " << which.codec.dump());
    const Outcome small = run_of(which, kSmall, std::nullopt);
    const Outcome large = run_of(which, kLarge, std::nullopt);
    const Outcome stand_in = run_of(which, kSmall, kLarge);
    CHECK(stand_in.position.seconds == large.position.seconds);
    CHECK(stand_in.position.bytes == large.position.bytes);
    CHECK(stand_in.worker_idle_seconds == large.worker_idle_seconds);
    CHECK(stand_in.position.bytes > small.position.bytes);
    CHECK(stand_in.mean.size() == static_cast<std::size_t>(kSmall));
    // Of itself it changes nothing.
    const Outcome itself = run_of(which, kSmall, kSmall);
    CHECK(itself.position.seconds == small.position.seconds);
    CHECK(itself.position.bytes == small.position.bytes);
    CHECK(itself.worker_digests == small.worker_digests);
  }
}

TEST_CASE("what a lattice sends again is the same share of the large model's vectors") {
  const auto bytes_of = [](double spacing, std::optional<std::size_t> stands_for) {
    return run_of({"ad-psgd",
                   {{"communication_rate", 1}},
                   {{"kind", "lattice"},
                    {"spacing", spacing},
                    {"bits", 8},
                    {"error_feedback", false}}},
                  kSmall, stands_for)
        .position.bytes;
  };
  // Where no value fits, all travel again as floats. Packed vectors have three floats more.
  const std::int64_t packed = bytes_of(1, kLarge), again = bytes_of(1e-30, kLarge);
  CHECK(packed > 0);
  CHECK((again - packed) * (kLarge / 4 + 3) == packed * kLarge);
}
