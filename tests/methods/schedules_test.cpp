// Methods on other graphs than the ring, such as graphs that change from exchange to exchange, in
// double precision (CORRECTNESS 19, 24, 36).
#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/methods/bowls.hpp"

using namespace acid;
using namespace acid::test;
using nlohmann::json;

namespace {

Topology graph_of(const char* kind, int workers = kWorkers, json options = json::object()) {
  options["kind"] = kind;
  return make_topology(workers, with_fallbacks(find_topology(kind)->fields, options));
}

Walk walk_on(const Topology& graph, const char* name, const json& options = json::object()) {
  return {graph, *find_algorithm(name), options, std::vector<double>(kDimension)};
}

double weight(const Walk& it, const BasicWorker<double>& worker) {
  const auto slots = it.method.rules.doubles->scalars();
  const auto found = std::ranges::find(slots, "w", &ScalarSlot::name);
  REQUIRE(found != slots.end());
  return worker.scalars()[static_cast<std::size_t>(found - slots.begin())];
}

double sum_of_weights(const Walk& it) {
  double sum = 0;
  for (const auto& worker : it.workers) sum += weight(it, worker);
  return sum;
}

const json kAdaptThenCombine = {{"order", "adapt-then-combine"}};

}  // namespace

TEST_CASE("CORRECTNESS 24: SGP's w sum to n, and x / w goes to the mean on directed graphs") {
  const Bowls bowls;
  const Walk::Gradient none = [](int, const std::vector<double>& x) {
    return std::vector<double>(x.size());
  };
  Walk it = walk_on(graph_of("epidemic", kWorkers, {{"form", "push"}}), "sgp");
  it.go(3, kRate, bowls.of_workers());
  const std::vector<double> mean = it.mean();
  bool differ = false;
  for (int round = 0; round < 100; ++round) {
    it.go(1, kRate, none);
    CHECK(sum_of_weights(it) == Approx(kWorkers).epsilon(1e-12));
    for (const auto& worker : it.workers) differ = differ || std::abs(weight(it, worker) - 1) > 0.1;
    for (std::size_t k = 0; k < kDimension; ++k) CHECK(it.mean()[k] == Approx(mean[k]));
  }
  CHECK(differ);
  for (const auto& worker : it.workers)
    for (std::size_t k = 0; k < kDimension; ++k)
      CHECK(worker.x()[k] / weight(it, worker) == Approx(mean[k]).epsilon(1e-10));
}

TEST_CASE("CORRECTNESS 24: SGP with doubly stochastic matrices is D-PSGD, adapt-then-combine") {
  for (const char* kind : {"ring", "one-peer-exponential", "random-matching"}) {
    INFO(kind);
    const Topology graph = graph_of(kind);
    CHECK(differ_by(walk_on(graph, "sgp"), walk_on(graph, "d-psgd", kAdaptThenCombine)) < 1e-13);
  }
  CHECK(differ_by(walk_on(graph_of("ring"), "sgp"),
                  walk_on(graph_of("one-peer-exponential"), "d-psgd", kAdaptThenCombine)) > 1e-3);
}

TEST_CASE("CORRECTNESS 19: on the complete graph adapt-then-combine is AR-SGD") {
  const Topology all = graph_of("complete");
  CHECK(differ_by(walk_on(all, "d-psgd", kAdaptThenCombine), walk_on(all, "ar-sgd")) < 1e-13);
}

TEST_CASE("CORRECTNESS 19: combine-while-adapt is AR-SGD only in the mean and equal Hessians") {
  const Topology all = graph_of("complete");
  for (const bool equal : {true, false}) {
    Bowls bowls;
    if (equal) bowls.h.assign(bowls.h.size(), bowls.h.front());
    Walk combined = walk_on(all, "d-psgd", {{"order", "combine-while-adapt"}});
    Walk reduced = walk_on(all, "ar-sgd");
    combined.go(40, kRate, bowls.of_workers());
    reduced.go(40, kRate, bowls.of_workers());
    double largest = 0;
    for (std::size_t k = 0; k < kDimension; ++k)
      largest = std::max(largest, std::abs(combined.mean()[k] - reduced.mean()[k]));
    if (equal)
      CHECK(largest < 1e-12);
    else
      CHECK(largest > 1e-3);
    CHECK(combined.distance(combined.mean()) > 1e-2);
  }
}

TEST_CASE("CORRECTNESS 36: NoLoCo among two, β = 0, η = 1, is local SGD") {
  const Topology pair = graph_of("complete", 2), all = graph_of("complete");
  const json plain = {{"steps", 4}, {"beta", 0.0}, {"eta", 1.0}};
  CHECK(differ_by(walk_on(pair, "noloco", plain), walk_on(pair, "local-sgd", {{"steps", 4}})) <
        1e-13);
  CHECK(differ_by(walk_on(all, "noloco", plain), walk_on(all, "local-sgd", {{"steps", 4}})) > 1e-3);
}

TEST_CASE("D-PSGD on a graph of all is averaging, and on a list of graphs Gossip-PGA") {
  const json alternate = {{"graphs", "3 ring, complete"}};
  CHECK(differ_by(walk_on(graph_of("graphs", kWorkers, {{"graphs", "complete"}}), "d-psgd",
                          kAdaptThenCombine),
                  walk_on(graph_of("ring"), "local-sgd", {{"steps", 1}})) < 1e-13);
  const Bowls bowls;
  Walk it = walk_on(graph_of("graphs", kWorkers, alternate), "d-psgd", kAdaptThenCombine);
  for (int leg = 1; leg <= 12; ++leg) {
    it.go(1, kRate, bowls.of_workers());
    const double spread = it.distance(it.mean());
    if (leg % 4 == 0)
      CHECK(spread < 1e-28);
    else
      CHECK(spread > 1e-6);
  }
}

TEST_CASE("methods refuse graphs that change where they cannot do with them") {
  const auto refused = [](const Topology& graph, const char* name, const json& options,
                          const char* why) {
    INFO(name << " on " << graph.kind());
    const AlgorithmEntry& entry = *find_algorithm(name);
    const Method method = entry.make(with_fallbacks(entry.fields, options), nullptr);
    CHECK_THROWS_WITH(require_schedule_fits(method, graph), ContainsSubstring(why));
    CHECK_THROWS_AS(mixing_of(method, graph), UsageError);
  };
  const Topology push = graph_of("epidemic", kWorkers, {{"form", "push"}});
  const Topology one_peer = graph_of("one-peer-exponential");
  refused(push, "d-psgd", json::object(), "push-sum");
  refused(one_peer, "ad-psgd", json::object(), "draws pairs");
  refused(one_peer, "noloco", json::object(), "itself");
  refused(one_peer, "d-psgd", {{"weights", "uniform"}}, "weights");
  CHECK_NOTHROW(walk_on(push, "sgp"));
  CHECK_NOTHROW(walk_on(push, "local-sgd"));  // it hears all
  CHECK_NOTHROW(walk_on(graph_of("epidemic", kWorkers, {{"form", "local"}}), "d-psgd"));
}

TEST_CASE("bytes per gradient follow from the messages of an exchange") {
  const auto bytes = [](const Topology& graph, const char* name) {
    const AlgorithmEntry& entry = *find_algorithm(name);
    constexpr double kGradients = 120.0 * kWorkers;
    return bytes_sent(entry.make(with_fallbacks(entry.fields, {{"steps", 1}}), nullptr), graph,
                      kGradients, 1000) /
           kGradients;
  };
  CHECK(bytes(graph_of("ring"), "d-psgd") == 2000);
  CHECK(bytes(graph_of("one-peer-exponential"), "d-psgd") == 1000);
  CHECK(bytes(graph_of("alternating-ring"), "d-psgd") == 1000);
  CHECK(bytes(graph_of("epidemic", kWorkers, {{"peers", 3}}), "d-psgd") == 3000);
  CHECK(bytes(graph_of("graphs", kWorkers, {{"graphs", "3 ring, complete"}}), "d-psgd") == 3250);
  CHECK(bytes(graph_of("one-peer-exponential"), "sgp") == 1008);
  CHECK(bytes(graph_of("complete"), "noloco") == 2000);
  CHECK(bytes(graph_of("star"), "noloco") == 2 * 2000.0 / kWorkers);
}
