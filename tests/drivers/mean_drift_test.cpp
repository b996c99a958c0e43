// CORRECTNESS 38: the effect of exchanges on the mean of all workers has no direction. Without
// gradients the mean stays in its place, for any rounding of a graph's weights.
#include <cmath>
#include <cstdio>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test {
namespace {

constexpr double kBound = 1e-6;
struct Graph {
  const char* name;
  nlohmann::json topology;
  int workers;
  bool directed = false;
};

/// A push graph that is drawn anew divides numbers by what arrived, a walk without a direction.
double bound_for(const Graph& graph) {
  return std::string(graph.name) == "directed, epidemic" ? 4e-5 : kBound;
}

std::vector<Graph> graphs() {
  const auto weighted = nlohmann::json::array(
      {{0, 1, 0.3}, {1, 2, 1.7}, {2, 3, 0.9}, {3, 4, 2.1}, {4, 0, 0.7}, {0, 2, 1.1}, {4, 5, 0.2}});
  return {{"ring of 8", {{"kind", "ring"}}, 8},
          {"ring of 9", {{"kind", "ring"}}, 9},
          {"torus of 9", {{"kind", "torus"}, {"rows", 3}, {"columns", 3}}, 9},
          {"complete of 6", {{"kind", "complete"}}, 6},
          {"complete of 9", {{"kind", "complete"}}, 9},
          {"complete of 10", {{"kind", "complete"}}, 10},
          {"star of 5", {{"kind", "star"}}, 5},
          {"weighted edges", {{"kind", "edges"}, {"edges", weighted}, {"file", nullptr}}, 6},
          {"random graph of 12", {{"kind", "erdos-renyi"}, {"p", 0.4}, {"seed", 3}}, 12},
          {"directed", {{"kind", "one-peer-exponential"}, {"directed", true}}, 8, true},
          {"directed, epidemic", {{"kind", "epidemic"}, {"peers", 2}, {"form", "push"}}, 9, true}};
}

/// ‖mean at the end − mean at the start‖ / ‖mean at the start‖; nothing if the method refuses the
/// graph. `scale`: of the gradients' noise; 0: gradients are 0.
std::optional<double> drift(const AlgorithmEntry& entry, const Graph& graph, int rounds) {
  constexpr int kDimension = 16;
  Setup setup;
  setup.topology = graph.topology;
  setup.workers = graph.workers;
  setup.entry = &entry;
  setup.options = with_fallbacks(entry.fields, nlohmann::json::object());
  if (setup.options.value("steps", 0.0) > 4) setup.options["steps"] = 4;
  setup.task = {{"dimension", kDimension}, {"curvature", 0.0}, {"initial_spread", 1.0}};
  setup.spec.budget.gradients = std::int64_t{rounds} * graph.workers;
  setup.spec.cadence.consensus_every = rounds;
  std::vector<double> mean(kDimension);
  const auto objective = quadratic(setup.task, graph.workers, Seeds(setup.seed), 1);
  for (int w = 0; w < graph.workers; ++w) {
    std::vector<float> x(kDimension), none;
    objective->start(w, x, none);
    for (std::size_t k = 0; k < x.size(); ++k) mean[k] += x[k] / static_cast<double>(graph.workers);
  }
  Outcome outcome;
  try {
    outcome = setup.run();
  } catch (const UsageError&) {
    return std::nullopt;
  }
  if (outcome.ending == Ending::diverged) return INFINITY;
  double moved = 0, length = 0;
  for (std::size_t k = 0; k < mean.size(); ++k) {
    moved += std::pow(outcome.mean[k] - mean[k], 2);
    length += mean[k] * mean[k];
  }
  return std::sqrt(moved / length);
}

/// Every method of rounds or pairs (a server's model is no mean of its workers); on directed graphs
/// only push-sum, which sends a number.
template <class Visit>
void for_each_method(const Graph& graph, const Visit& visit) {
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    const nlohmann::json options = with_fallbacks(entry.fields, nlohmann::json::object());
    const bool sums = entry.make(options, nullptr).message().scalars > 0;
    if (entry.peers != Peers::server && (sums || !graph.directed)) visit(entry);
  }
}

/// The largest drift of all methods; names each method that is above the bound.
void check(const Graph& graph, int rounds) {
  for_each_method(graph, [&](const AlgorithmEntry& entry) {
    const auto moved = drift(entry, graph, rounds);
    INFO(entry.name << " on " << graph.name << ", " << rounds << " rounds");
    if (moved) CHECK(*moved < bound_for(graph));
  });
}

}  // namespace

TEST_CASE("CORRECTNESS 38: without gradients the mean of all workers stays where it is",
          "[release]") {
  for (const Graph& graph : graphs()) check(graph, 400);
}

TEST_CASE("CORRECTNESS 38: the mean after 20,000 rounds, method by method", "[.][study]") {
  for (const Graph& graph : graphs())
    for_each_method(graph, [&](const AlgorithmEntry& entry) {
      const auto moved = drift(entry, graph, 20'000);
      if (!moved) return;
      std::printf("%-28s %-22s %.1e\n", std::string(entry.name).c_str(), graph.name, *moved);
      std::fflush(stdout);
      CHECK(*moved < bound_for(graph));
    });
}

}  // namespace acid::test
