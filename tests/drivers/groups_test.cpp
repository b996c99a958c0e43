// Neighbours that average by an all-reduce in their group: values, seconds and bytes.
#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"

namespace acid::test {
namespace {

constexpr int kMembers = 8;
constexpr double kGroupVector = 4000;  // bytes

/// Rounds of D-PSGD in which groups of 4 and of 2 workers take turns, or in which all are a group.
struct InGroups : Setup {
  explicit InGroups(const char* how = "all-reduce", const char* order = "adapt-then-combine",
                    nlohmann::json graph = {{"kind", "alternating-exponential-ring"},
                                            {"workers_per_node", 2}}) {
    algorithm = "d-psgd";
    options = {{"order", order}, {"exchange", how}};
    topology = std::move(graph);
    workers = kMembers;
    task = {
        {"dimension", static_cast<int>(kGroupVector) / 4}, {"noise", 0.3}, {"initial_spread", 1.0}};
    spec.schedule.learning_rate = 0.02;
    spec.budget.gradients = 12 * kMembers;
    spec.cadence.consensus_every = 4;
    spec.cadence.evaluate_every = 1e9;
    virtual_time.cost.buckets = 1;
  }
};

}  // namespace

TEST_CASE("groups: every driver has the same bits, and the mean of messages to rounding") {
  for (const char* order : {"adapt-then-combine", "combine-while-adapt"})
    for (const nlohmann::json& graph :
         {nlohmann::json{{"kind", "alternating-exponential-ring"}, {"workers_per_node", 2}},
          nlohmann::json{{"kind", "complete"}}}) {
      INFO(order << " on " << graph.dump());
      InGroups simulated("all-reduce", order, graph), threads("all-reduce", order, graph),
          messages("messages", order, graph);
      const Outcome expected = simulated.run();
      threads.on_threads = true;
      const Outcome on_threads = threads.run();
      CHECK(on_threads.worker_digests == expected.worker_digests);
      CHECK(on_threads.position.bytes == expected.position.bytes);
      InGroups same("all-reduce", order, graph);
      const Outcome under_mpi = run_as_processes(same);
      CHECK(under_mpi.worker_digests == expected.worker_digests);
      CHECK(under_mpi.position.bytes == expected.position.bytes);

      const Outcome by_messages = messages.run();
      CHECK(by_messages.position.bytes > expected.position.bytes);
      for (std::size_t k = 0; k < expected.mean.size(); ++k)
        REQUIRE(std::abs(by_messages.mean[k] - expected.mean[k]) <= 1e-5);
      CHECK(simulated.recorder.last("consensus_distance") ==
            Approx(messages.recorder.last("consensus_distance")).epsilon(1e-4).margin(1e-9));
    }
}

TEST_CASE("groups: an exchange takes the time and the bytes of each group's all-reduce") {
  InGroups all("all-reduce", "adapt-then-combine", {{"kind", "complete"}});
  all.virtual_time.network.link = {0.25, kGroupVector};
  const Outcome whole = all.run();
  const double ring = all.virtual_time.network.all_reduce_seconds(kMembers, kGroupVector);
  CHECK(ring == Approx(2 * 7 * (0.25 + 1.0 / 8)));
  CHECK(whole.position.seconds == Approx(12 * (1 + ring)));
  CHECK(whole.position.bytes == 12 * 2 * 7 * static_cast<std::int64_t>(kGroupVector));

  // Of 4 nodes with 2 workers each, two average together and two by themselves.
  InGroups turns;
  turns.virtual_time.network.link = {0.25, kGroupVector};
  const auto graph = make_topology(kMembers, turns.topology);
  std::vector<double> now(kMembers, 0.0);
  for (std::int64_t e = 0; e < 12; ++e)
    for (const std::vector<int>& group : groups_of(graph.schedule()->matrix(e, 0))) {
      const auto g = static_cast<double>(group.size());
      double end = 0;
      for (const int i : group) end = std::max(end, now[static_cast<std::size_t>(i)]);
      end += 1 + 2 * (g - 1) * (0.25 + 1 / g);
      for (const int i : group) now[static_cast<std::size_t>(i)] = end;
    }
  const Outcome outcome = turns.run();
  CHECK(outcome.position.seconds == Approx(*std::ranges::max_element(now)));
  CHECK(outcome.position.bytes == 12 * (2 * 3 + 2 * 2) * static_cast<std::int64_t>(kGroupVector));
}

TEST_CASE("groups share the cards of their nodes, and one alone has the network's time") {
  const auto seconds = [](std::vector<int> per_node, AllReduceKind kind,
                          nlohmann::json graph = {{"kind", "complete"}}) {
    InGroups setup("all-reduce", "adapt-then-combine", std::move(graph));
    NetworkModel& network = setup.virtual_time.network;
    network.link = {0.25, kGroupVector};
    network.workers_per_node = std::move(per_node);
    network.all_reduce = kind;
    network.settle(kMembers);
    setup.spec.budget.gradients = 6 * kMembers;
    return std::pair(setup.run().position.seconds / 6 - 1,
                     network.all_reduce_seconds(kMembers, kGroupVector));
  };
  for (const AllReduceKind kind :
       {AllReduceKind::ring, AllReduceKind::tree, AllReduceKind::recursive_doubling,
        AllReduceKind::blocking, AllReduceKind::hierarchical, AllReduceKind::direct})
    for (const std::vector<int>& per_node : {std::vector<int>{1}, {2}, {4}, {5, 3}}) {
      INFO(static_cast<int>(kind) << ", " << per_node[0] << " workers on a node");
      const auto [took, alone] = seconds(per_node, kind);
      CHECK(took == Approx(alone).epsilon(1e-9));
    }
  // With one worker for a node of the graph and four on one of the network, partners are on two
  // nodes in exchanges 4 and 5 only: two pairs in each, which share both cards.
  const auto [took, alone] =
      seconds({4}, AllReduceKind::ring,
              {{"kind", "alternating-exponential-ring"}, {"workers_per_node", 1}});
  CHECK(6 * took == Approx(2 * 0.25 + 2 * 1.0));
}

TEST_CASE("groups: what an all-reduce cannot do, or the graph does not have, is refused") {
  const auto refused = [](const char* algorithm, nlohmann::json graph, nlohmann::json codec = {}) {
    InGroups setup("all-reduce", "adapt-then-combine", std::move(graph));
    setup.algorithm = algorithm;
    if (setup.algorithm != "d-psgd") setup.options.erase("order");
    setup.codec = std::move(codec);
    CHECK_THROWS_AS(setup.run(), UsageError);
  };
  refused("d-psgd", {{"kind", "ring"}});
  refused("d-psgd", {{"kind", "complete"}}, {{"kind", "bf16"}, {"error_feedback", false}});
  refused("sgp", {{"kind", "complete"}});
  refused("d2", {{"kind", "complete"}});
}

}  // namespace acid::test
