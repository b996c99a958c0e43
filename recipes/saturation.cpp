#include "recipes/saturation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "engine/drivers/virtual/virtual_clock.hpp"
#include "engine/methods/method.hpp"
#include "settings/run_spec.hpp"

namespace acid {
namespace {

// Where durations are alike, exchanges may fall into a rhythm that depends on the seed.
constexpr int kSeeds = 8;
constexpr double kSimulatedUnits = 100;  // with each seed, or so many exchanges:
constexpr std::int64_t kExchanges = 25'000, kExchangesPerWorker = 10;

double most_exchanges(int workers) {
  return static_cast<double>(std::max(kExchanges, kExchangesPerWorker * workers));
}

// Shorter exchanges, in gradients of the slowest worker, are taken to be longer by this: the clock
// tells no times apart that are closer than 1e-9 of a gradient.
constexpr double kShortest = 1e-10;

double slowest_gradient(const RunSpec& spec, const VirtualOptions& model) {
  double slowest = 0;
  for (int w = 0; w < spec.workers; ++w) slowest = std::max(slowest, model.compute.mean_seconds(w));
  return slowest;
}

double shortest_exchange(const RunSpec& spec, std::size_t dimension, const VirtualOptions& model) {
  const auto bytes =
      static_cast<double>(spec.method.packed_message(spec.travelling(dimension)).bytes());
  double shortest = kNever;
  spec.topology->for_each_edge([&](const Edge& edge) {
    shortest = std::min(shortest, model.network.meeting_seconds(edge.i, edge.j, bytes));
  });
  return shortest + model.cost.exchange_seconds;
}

/// Units of normalised time that no more than these exchanges fit into, were all as short as the
/// shortest: how many do is not known before.
double first_units(const RunSpec& spec, double shortest, double slowest) {
  return std::min(kSimulatedUnits,
                  2 * most_exchanges(spec.workers) / spec.workers * shortest / slowest);
}

/// Every exchange takes so many seconds more.
void delay(NetworkModel& network, double seconds) {
  for (LinkCost* const each : {&network.link, &network.inside}) each->latency_seconds += seconds;
  for (auto* const links : {&network.edges, &network.between_nodes})
    for (auto& [ends, each] : *links) each.latency_seconds += seconds;
}

VirtualOptions with_mean_durations(VirtualOptions model) {
  ComputeModel& compute = model.compute;
  compute.kind = ComputeKind::constant;
  compute.gradient_seconds *=
      1 + std::exchange(compute.slowdown_probability, 0) * (compute.slowdown_factor - 1);
  compute.pauses.clear();
  if (model.gradient_clock != GradientClock::duration) model.cost.optimizer_share = 0;
  model.gradient_clock = GradientClock::duration;
  return model;
}

}  // namespace

Saturation saturation(const RunSpec& spec, std::size_t dimension, const VirtualOptions& model) {
  RunSpec part = spec;
  part.method.saturates = true;
  part.budget = {};
  VirtualOptions means = with_mean_durations(model);
  const double slowest = slowest_gradient(spec, means);
  double shortest = shortest_exchange(spec, dimension, means);
  Saturation mean{.rate = 0, .edges = {}, .at_least = shortest < kShortest * slowest};
  if (mean.at_least) {
    delay(means.network, kShortest * slowest);
    shortest = shortest_exchange(spec, dimension, means);
  }
  double& units = part.budget.normalised_time = first_units(spec, shortest, slowest);
  const auto run = [&](std::uint64_t seed) {
    part.seeds = Seeds(seed);
    return run_clock(part, means, dimension);
  };
  const double most = most_exchanges(spec.workers);
  while (units < kSimulatedUnits) {
    const auto done = static_cast<double>(run(0).exchanges_done);
    if (2 * done >= most) break;
    units = std::min(kSimulatedUnits, units * std::min(16.0, most / std::max(1.0, done)));
  }
  std::map<std::pair<int, int>, double> rates;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome one = run(seed);
    const double time = one.position.normalised_time * kSeeds;
    mean.rate += 2 * static_cast<double>(one.exchanges_done) / time / spec.workers;
    for (const EdgeUse& edge : one.edges)
      rates[{edge.i, edge.j}] += static_cast<double>(edge.count) / time;
  }
  for (const auto& [pair, rate] : rates) mean.edges.push_back({pair.first, pair.second, rate});
  return mean;
}

Expected expected_saturation(const RunSettings& settings, const Topology& topology,
                             std::int64_t parameters) {
  const auto refused = [](std::string_view why, std::string remedy) {
    Expected expected;
    expected.problem = {fmt::format("communication_rate = \"saturate\" {}", why),
                        std::move(remedy)};
    return expected;
  };
  const VirtualOptions& model = settings.execution.simulation;
  if (!settings.execution.entry().simulates)
    return refused("needs simulated time, where it is known who is free",
                   "use driver = \"virtual\", or write a number");
  if (settings.workers == 1) return {};
  const RunSpec spec = spec_from(settings, topology);
  const auto dimension = static_cast<std::size_t>(parameters);
  if (!(shortest_exchange(spec, dimension, model) > 0))
    return refused("has no meaning where exchanges take no time: there would be no end of them",
                   "set execution.virtual.network.latency_seconds or bandwidth_bytes_per_second "
                   "for all links, inside nodes too, or execution.virtual.cost.exchange_seconds");
  if (numbers_are_of_seed(settings.algorithm))
    return refused("draws no list of exchanges from which spectral = \"realised\" could be known",
                   "remove spectral");
  const Saturation found = saturation(spec, dimension, model);
  if (found.rate > kMostCommunicationRate)
    return refused(
        fmt::format("would be {}{:.3g} exchanges per gradient", found.at_least ? "at least " : "",
                    found.rate),
        fmt::format("make exchanges longer: at most {} are carried out", kMostCommunicationRate));
  const Spectral spectral = spectral_of_rates(settings.workers, found.edges);
  if (!std::isfinite(spectral.chi1))
    return refused("leaves some workers without each other in 100 gradients of each",
                   "use a network without links that are that slow, or write a number");
  return {
      .problem = {}, .rate = std::stod(fmt::format("{:.4g}", found.rate)), .spectral = spectral};
}

}  // namespace acid
