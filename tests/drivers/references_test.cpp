// Every method of the catalog against the formula of its paper, under every learning-rate schedule
// (CORRECTNESS 40), and relations between methods (CORRECTNESS 41 and 42).
#include "tests/drivers/references.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "engine/base/error.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

namespace acid::test::references {
namespace {

/// A few times the effect of rounding alone in 60 gradients.
constexpr double kSinglePrecision = 4e-6, kDoublePrecision = 1e-12;

bool takes(const AlgorithmEntry& entry, const Variant& variant) {
  return std::ranges::all_of(variant.options.items(), [&](const auto& option) {
    return std::ranges::find(entry.fields, option.key(), &Field::name) != entry.fields.end();
  });
}

/// The largest deviation of every method, by schedule.
using Table = std::map<std::string, std::map<std::string, double>>;

/// Adds to `beyond` every value that is not below the bound.
template <class Deviation>
Table deviations(const std::vector<Comparison>& comparisons, double bound, std::string& beyond,
                 Deviation deviation_of) {
  Table table;
  for (const Comparison& one : comparisons) {
    const double deviation = deviation_of(one);
    if (!(deviation < bound)) beyond += fmt::format("{:.1e}: {}\n", deviation, one.name());
    double& largest = table[std::string(one.reference->method)][one.schedule];
    largest = std::max(largest, deviation);
  }
  return table;
}

std::string print(const Table& table) {
  std::string text = fmt::format("{:<27}", "");
  for (const std::string& schedule : schedule_names()) text += fmt::format("{:>8}", schedule);
  for (const auto& [method, by_schedule] : table) {
    text += fmt::format("\n{:<27}", method);
    for (const std::string& schedule : schedule_names())
      text += fmt::format("{:>8.0e}", by_schedule.at(schedule));
  }
  return text;
}

}  // namespace

std::vector<Comparison> all_comparisons() {
  std::vector<Comparison> all;
  for (const Reference& reference : all_references())
    if (const AlgorithmEntry* const entry = find_algorithm(reference.method))
      for (const Variant& variant : reference.variants) {
        if (!takes(*entry, variant)) continue;
        for (const auto& graph : variant.graphs.empty() ? reference.graphs : variant.graphs)
          for (const std::string& schedule : schedule_names())
            all.push_back({entry, &reference, &variant, graph, schedule});
      }
  return all;
}

TEST_CASE("references: every method of the catalog has one, and none is of another") {
  std::set<std::string_view> catalog, referenced;
  for (const AlgorithmEntry& entry : algorithm_catalog()) catalog.insert(entry.name);
  for (const Reference& reference : all_references()) {
    INFO(reference.method);
    CHECK(referenced.insert(reference.method).second);
    CHECK((reference.rounds == nullptr) != (reference.logged == nullptr));
    CHECK(reference.variants.size() >= 2);  // the fallbacks, and others
  }
  for (const std::string_view name : catalog) {
    INFO(name << " has no reference: write its paper's formula into tests/drivers/references_*");
    CHECK(referenced.contains(name));
  }
  CHECK(referenced.size() == catalog.size());
}

// test_drivers "references: the table*" -s prints the tables.
TEST_CASE("references: the table of deviations from the papers' formulas", "[release]") {
  std::string beyond;
  const Table table = deviations(all_comparisons(), kSinglePrecision, beyond,
                                 [](const Comparison& one) { return one.simulated(); });
  INFO("simulated, largest difference relative to the largest |x|:\n" << print(table));
  CHECK(beyond == "");
}

TEST_CASE("references: the table of deviations of rounds in double precision", "[release]") {
  std::vector<Comparison> comparisons = all_comparisons();
  std::erase_if(comparisons, [](const Comparison& one) {
    return one.reference->rounds == nullptr || !one.variant->codec.is_null();
  });
  std::string beyond;
  const Table table = deviations(comparisons, kDoublePrecision, beyond,
                                 [](const Comparison& one) { return one.in_double_precision(); });
  INFO("without a driver, largest difference relative to the largest |x|:\n" << print(table));
  CHECK(beyond == "");
}

// test_drivers "CORRECTNESS 38: with gradients*" -s prints the largest. By hand: 20,000 rounds.
TEST_CASE(
    "CORRECTNESS 38: with gradients the mean is as near its formula on every graph as where "
    "weights are exact",
    "[.][study]") {
  struct Graph {
    nlohmann::json graph;
    int workers;
  };
  const nlohmann::json torus = {{"kind", "torus"}, {"rows", 3}, {"columns", 3}},
                       random = {{"kind", "erdos-renyi"}, {"p", 0.4}, {"seed", 3}};
  const std::vector<Graph> exact = {{{{"kind", "hypercube"}}, 8}, {kComplete, 8}},
                           rounded = {{kRing, 8},
                                      {kRing, 9},
                                      {torus, 9},
                                      {kComplete, 6},
                                      {kComplete, 9},
                                      {kComplete, 10},
                                      {{{"kind", "star"}}, 5},
                                      {random, 12}};
  for (const Reference& reference : all_references()) {
    const AlgorithmEntry* const entry = find_algorithm(reference.method);
    Variant variant = reference.variants.front();
    const bool has_neighbours =
        std::ranges::find(reference.graphs, kRing) != reference.graphs.end();
    if (reference.rounds == nullptr || !variant.codec.is_null() || !has_neighbours) continue;
    variant.gradients = 20'000;
    const auto largest = [&](const std::vector<Graph>& graphs) {
      double most = 0;
      for (const auto& [graph, workers] : graphs) {
        const Comparison one{entry, &reference, &variant, graph, "constant", workers};
        if (one.is_possible()) most = std::max(most, one.simulated(deviation_of_mean));
      }
      return most;
    };
    const double bound = largest(exact), most = largest(rounded);
    INFO(fmt::format("{:<27} exact weights {:.1e}, others {:.1e}", reference.method, bound, most));
    CHECK(most < std::max(1e-6, 3 * bound));
  }
}

TEST_CASE("references: the formula of another method is far off") {
  const auto far = [](const char* method, const char* other) {
    const auto of = [](std::string_view name) {
      return &*std::ranges::find(all_references(), name, &Reference::method);
    };
    for (const std::string& schedule : schedule_names()) {
      const Variant fallbacks;
      const Comparison one{find_algorithm(method), of(other), &fallbacks, kRing, schedule};
      INFO(method << " by the formula of " << other << ", " << schedule);
      const double deviation = one.simulated();
      CHECK(std::isfinite(deviation));
      CHECK(deviation > 50 * kSinglePrecision);
    }
  };
  far("d-psgd", "exact-diffusion");
  far("d-psgd", "sgp");  // sgp adapts, then combines
  far("d2", "extra");
  far("swarm-sgd-nonblocking", "swarm-sgd");
}

namespace {

Outcome run_on(const char* algorithm, const nlohmann::json& options, const nlohmann::json& graph,
               double latency) {
  Setup setup;
  setup.workers = workers_on(graph);
  setup.topology = graph;
  setup.algorithm = algorithm;
  setup.options = options;
  setup.task = {{"dimension", 33}, {"noise", 0.3}, {"heterogeneity", 1.0}};
  setup.spec.schedule.kind = ScheduleKind::cosine;
  setup.spec.optimizer.momentum = 0.5;
  setup.spec.budget.gradients = 60 * setup.workers;
  setup.virtual_time.compute.kind = ComputeKind::exponential;
  setup.virtual_time.network.link.latency_seconds = latency;
  return setup.run();
}

double apart(const Outcome& a, const Outcome& b) {
  double largest = 0, difference = 0;
  for (std::size_t k = 0; k < a.mean.size(); ++k) {
    largest = std::max(largest, std::abs(double{a.mean[k]}));
    difference = std::max(difference, std::abs(double{a.mean[k]} - b.mean[k]));
  }
  return difference / largest;
}

}  // namespace

// If all workers have one Hessian their mean follows one recursion, for any differences of workers.
TEST_CASE("CORRECTNESS 41: on the complete graph the mean of GASLoC is DiLoCo's") {
  for (const int steps : {1, 4, 7}) {
    const Outcome diloco =
        run_on("diloco", {{"steps", steps}, {"eta", 0.7}, {"beta", 0.6}}, kComplete, 0);
    const auto gasloc = [&](double rho) {
      return run_on("gasloc", {{"steps", steps}, {"eta", 0.7}, {"rho", rho}}, kComplete, 0);
    };
    CHECK(apart(gasloc(0.6), diloco) < 1e-5);
    CHECK(apart(gasloc(0.5), diloco) > 1e-3);
  }
}

TEST_CASE("CORRECTNESS 42: SwarmSGD is AD-PSGD at the rate 1/steps, bit for bit") {
  for (const nlohmann::json& graph : {kRing, kIrregular})
    for (const double latency : {0.0, 0.2})
      for (const double steps : {0.5, 2.0, 3.0}) {
        const Outcome swarm = run_on("swarm-sgd", {{"steps", steps}}, graph, latency);
        const auto ad_psgd = [&](double rate) {
          return run_on("ad-psgd", {{"communication_rate", rate}}, graph, latency);
        };
        CHECK(swarm.exchanges_done > 0);
        CHECK(swarm.worker_digests == ad_psgd(1 / steps).worker_digests);
        CHECK(swarm.worker_digests != ad_psgd(2 / steps).worker_digests);
      }
}

}  // namespace acid::test::references
