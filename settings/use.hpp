#pragma once

#include <algorithm>

#include "engine/base/fields.hpp"
#include "engine/methods/listed.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// What decides whether a run uses a key of its recipe.
struct RunInUse {
  const RunSettings& settings;
  const AlgorithmEntry& entry;
  const Method& method;
  const Topology& topology;
  bool has_buffers = false;  // batch-norm statistics
};

/// The functions Field::unused of settings, and their helpers.
namespace use {

using Run = RunInUse;

inline constexpr const char* kAlone = "one worker has no other to talk to";
inline constexpr const char* kInstant = "messages take no time";
inline constexpr const char* kServed = "workers talk to a server, and no graph has a part in it";

inline const VirtualOptions& simulated(const Run& run) { return run.settings.execution.simulation; }
inline bool simulates(const Run& run) { return run.settings.execution.entry().simulates; }
inline bool pairwise(const Run& run) { return run.method.has_meetings(); }
inline bool alone(const Run& run) { return run.settings.workers == 1; }
inline bool has_gradients(const Run& run) {
  return simulated(run).gradient_clock != GradientClock::none;
}
inline bool is_instant(const Run& run) { return simulated(run).network.is_instant(); }
// Whether communication is cut into buckets that overlap the backward pass.
inline bool has_buckets(const Run& run) {
  const auto overlaps = [](const Leg& leg) {
    return comes_before(leg, Phase::say, Phase::gradient);
  };
  if (run.method.has_server()) return false;
  return run.method.reduces_gradients || std::ranges::any_of(run.method.round.legs(), overlaps);
}
inline bool draws_durations(const Run& run) {
  const VirtualOptions& model = simulated(run);
  return simulates(run) && has_gradients(run) &&
         (model.gradient_clock == GradientClock::poisson ||
          model.compute.kind != ComputeKind::constant || model.compute.slowdown_probability > 0);
}
// Graphs that change are drawn from the seed of the exchanges.
inline bool draws_graphs(const Run& run) {
  if (alone(run) || pairwise(run) || run.method.peers == Peers::all || run.method.has_server())
    return false;
  return run.method.peers == Peers::one ||
         (run.topology.schedule() && run.topology.schedule()->period() == 0);
}
inline bool gossips(const Run& run) { return pairwise(run) && !alone(run) && run.method.rate > 0; }

/// Why a run does not use a key; nullptr: it does.
inline const char* unless(bool used, const char* why_not) { return used ? nullptr : why_not; }

inline const char* without_buffers(const Run& run) {
  return unless(run.has_buffers, "what is trained has no batch-norm statistics");
}
inline const char* without_gradients(const Run& run) {
  return unless(has_gradients(run), "there are no gradients");
}
inline const char* without_decay(const Run& run) {
  return unless(run.settings.optimizer.weight_decay > 0, "weight_decay is 0");
}
inline const char* without_warmup(const Run& run) {
  return unless(run.settings.schedule.warmup > 0, "warmup is 0");
}
inline const char* without_scaling(const Run& run) {
  return unless(run.settings.scales_with_workers, "scale_with_workers is \"none\"");
}
inline const char* topology(const Run& run) {
  if (alone(run)) return kAlone;
  return unless(reads_graph(run.entry, run.method),
                run.method.has_server() ? kServed : "an all-reduce is among all workers");
}
inline const char* init_seed(const Run& run) {
  return unless(text(run.settings.task.dataset, "kind") != "logistic", "the start point is zero");
}
inline const char* without_exchanges(const Run& run) {
  return unless(gossips(run), "no exchanges are drawn");
}
inline const char* gossip_seed(const Run& run) {
  return draws_graphs(run) ? nullptr : without_exchanges(run);
}
inline const char* compute_seed(const Run& run) {
  return unless(draws_durations(run), "no duration is drawn at random");
}
inline const char* max_backlog(const Run& run) {
  if (gossips(run) && run.method.saturates)
    return "with communication_rate = \"saturate\" workers exchange when both are free, and no "
           "exchange waits";
  return gossips(run) ? unless(!simulates(run) || !simulated(run).has_instant_exchanges(), kInstant)
                      : without_exchanges(run);
}
inline const char* max_load(const Run& run) {
  return simulates(run) ? max_backlog(run) : "only simulated exchanges have a load beforehand";
}
template <DriverKind driver>
const char* without_driver(const Run& run) {
  return unless(run.settings.execution.driver == driver, entry_of(driver).unused);
}
inline const char* simulated_time(const Run& run) {
  return run.settings.execution.predict ? nullptr : without_driver<DriverKind::virtual_time>(run);
}
inline const char* predict_runs(const Run& run) {
  return unless(run.settings.execution.predict, "execution.predict is false");
}
inline const char* gradient_clock(const Run& run) {
  return unless(pairwise(run), "the rounds of a synchronous method have durations");
}
inline const char* without_messages(const Run& run) {
  return unless(!alone(run) || run.method.has_server(), kAlone);
}
inline const char* without_ways(const Run& run) {
  if (const char* const why = without_messages(run)) return why;
  const NetworkModel& network = simulated(run).network;
  return unless(run.method.has_server() || network.nodes() != 1 || !network.edges.empty(),
                "all workers are on one node, whose links are network.inside");
}
inline const char* without_links(const Run& run) {
  return run.method.has_server() ? kServed : without_messages(run);
}
inline const char* without_nodes(const Run& run) {
  if (run.method.has_server()) return kServed;
  return unless(simulated(run).network.nodes() > 0, "no two workers share a node");
}
inline const char* without_hubs(const Run& run) {
  return unless(run.method.hubs.has_value(), "no algorithm here has hubs");
}
inline const char* without_all_reduce(const Run& run) {
  return unless(run.method.hears_all(), "no algorithm here does an all-reduce");
}
inline const char* simulated_all_reduce(const Run& run) {
  if (alone(run)) return kAlone;
  return is_instant(run) ? kInstant : without_all_reduce(run);
}
inline const char* without_meetings(const Run& run) {
  return unless(gossips(run), "no algorithm here has workers that meet in pairs");
}
inline const char* without_neighbours(const Run& run) {
  if (alone(run)) return kAlone;
  const bool hears_some = run.method.peers == Peers::neighbours || run.method.peers == Peers::one ||
                          !run.method.turns.empty();
  return unless(hears_some && !run.method.reduces_groups,
                "no algorithm here has rounds of messages between neighbours");
}
inline const char* without_sums(const Run& run) {
  return run.method.reduces_groups ? nullptr : without_all_reduce(run);
}
inline const char* without_buckets(const Run& run) {
  if (alone(run)) return kAlone;
  if (is_instant(run)) return kInstant;
  return unless(has_buckets(run), "no algorithm here overlaps its messages with the backward pass");
}
inline const char* exchange_seconds(const Run& run) {
  if (alone(run) && !run.method.has_server()) return kAlone;
  const bool in_turns = !run.method.turns.empty();
  return unless(in_turns || run.method.peers != Peers::all, "an all-reduce is the network's work");
}
inline const char* on_loss(const Run& run) {
  const auto& mpi = run.settings.execution.mpi;
  return unless(!mpi || !mpi->go_on || pairwise(run),
                "rounds of a synchronous method need all workers, so the run restarts");
}

}  // namespace use
}  // namespace acid
