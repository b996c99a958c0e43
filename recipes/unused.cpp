#include "recipes/unused.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/fields.hpp"
#include "engine/methods/listed.hpp"

namespace acid {
namespace {

using Run = UnusedKeys::Run;

bool has_driver(const Run& run, DriverKind driver) {
  return run.settings.execution.driver == driver;
}
const VirtualOptions& simulated(const Run& run) { return run.settings.execution.simulation; }
bool simulates(const Run& run) { return has_driver(run, DriverKind::virtual_time); }
bool pairwise(const Run& run) { return run.method.has_meetings(); }
bool reduces(const Run& run) { return run.method.hears_all(); }
bool alone(const Run& run) { return run.settings.workers == 1; }
bool gossips(const Run& run) { return pairwise(run) && !alone(run) && run.method.rate > 0; }
bool has_gradients(const Run& run) { return simulated(run).gradient_clock != GradientClock::none; }
bool link_is_instant(const LinkCost& link) {
  return link.latency_seconds == 0 && link.bytes_per_second == 0;
}
bool instant(const Run& run) {
  const NetworkModel& network = simulated(run).network;
  return link_is_instant(network.link) && std::ranges::all_of(network.edges, [](const auto& edge) {
           return link_is_instant(edge.second);
         });
}
// Whose communication is cut into buckets that overlap the backward pass.
bool has_buckets(const Run& run) {
  const auto overlaps = [](const Leg& leg) {
    return comes_before(leg, Phase::say, Phase::gradient);
  };
  if (run.method.has_server()) return false;
  return run.method.reduces_gradients || std::ranges::any_of(run.method.round.legs(), overlaps);
}
bool draws_durations(const Run& run) {
  const VirtualOptions& model = simulated(run);
  return simulates(run) && has_gradients(run) &&
         (model.gradient_clock == GradientClock::poisson ||
          model.compute.kind != ComputeKind::constant || model.compute.slowdown_probability > 0);
}

bool dataset_is(const Run& run, std::string_view kind) {
  return text(run.settings.task.dataset, "kind") == kind;
}
bool reads_file(const Run& run) { return run.settings.task.dataset.at("path").is_string(); }

constexpr const char* kAlone = "one worker has nobody to talk to";
constexpr const char* kServed = "workers talk to a server, and no graph has a part in it";
constexpr const char* kNoGradients = "there are no gradients";
constexpr const char* kNobodyGossips = "no exchanges are drawn";
constexpr const char* kInstant = "messages take no time";

/// A key and why a run does not look at it; nullptr: it does.
struct KeyRule {
  std::string_view path;
  const char* (*why_not)(const Run& run);
};

const char* simulation_without(const Run& run) {
  return simulates(run) ? nullptr : "it is the virtual driver's, and another is used";
}
const char* of_drawn_examples(const Run& run) {
  return dataset_is(run, "logistic") && reads_file(run) ? "the examples are those of the file"
                                                        : nullptr;
}
const char* of_gossip(const Run& run) { return gossips(run) ? nullptr : kNobodyGossips; }
// Graphs that change are drawn from the seed of the exchanges.
bool draws_graphs(const Run& run) {
  if (alone(run) || pairwise(run) || run.method.peers == Peers::all || run.method.has_server())
    return false;
  return run.method.peers == Peers::one ||
         (run.topology.schedule() && run.topology.schedule()->period() == 0);
}
const char* of_gradients(const Run& run) { return has_gradients(run) ? nullptr : kNoGradients; }
const char* of_messages(const Run& run) {
  return alone(run) && !run.method.has_server() ? kAlone : nullptr;
}
const char* of_links(const Run& run) {
  return run.method.has_server() ? kServed : of_messages(run);
}
const char* of_buckets(const Run& run) {
  if (alone(run)) return kAlone;
  if (instant(run)) return kInstant;
  return has_buckets(run) ? nullptr
                          : "no algorithm here overlaps its messages with the backward pass";
}

constexpr std::array kRules = {
    KeyRule{"task.dataset.test_fraction",
            [](const Run& run) -> const char* {
              return dataset_is(run, "logistic") && !reads_file(run) ? "no file is read" : nullptr;
            }},
    KeyRule{"task.dataset.dimension", &of_drawn_examples},
    KeyRule{"task.dataset.separation", &of_drawn_examples},
    KeyRule{"task.dataset.label_noise", &of_drawn_examples},
    KeyRule{"task.dataset.train", &of_drawn_examples},
    KeyRule{"task.dataset.test", &of_drawn_examples},
    KeyRule{"task.buffers",
            [](const Run& run) -> const char* {
              return run.has_buffers ? nullptr : "what is trained has no batch-norm statistics";
            }},
    KeyRule{"task.batch_size", &of_gradients},
    KeyRule{"optimizer", &of_gradients},
    KeyRule{"optimizer.decay_one_dimensional",
            [](const Run& run) -> const char* {
              return run.settings.optimizer.weight_decay > 0 ? nullptr : "weight_decay is 0";
            }},
    KeyRule{"optimizer.no_decay",
            [](const Run& run) -> const char* {
              return run.settings.optimizer.weight_decay > 0 ? nullptr : "weight_decay is 0";
            }},
    KeyRule{"optimizer.schedule.warmup_from",
            [](const Run& run) -> const char* {
              return run.settings.schedule.warmup > 0 ? nullptr : "warmup is 0";
            }},
    KeyRule{"optimizer.schedule.reference_batch",
            [](const Run& run) -> const char* {
              return run.settings.scales_with_workers ? nullptr : "scale_with_workers is \"none\"";
            }},
    KeyRule{"topology",
            [](const Run& run) -> const char* {
              if (run.method.has_server()) return kServed;
              if (alone(run)) return kAlone;
              return reads_graph(run.entry, run.method) ? nullptr
                                                        : "an all-reduce is among all workers";
            }},
    KeyRule{"streams.init",
            [](const Run& run) -> const char* {
              return dataset_is(run, "logistic") ? "the start point is zero" : nullptr;
            }},
    KeyRule{"streams.data", &of_gradients},
    KeyRule{
        "streams.gossip",
        [](const Run& run) -> const char* { return draws_graphs(run) ? nullptr : of_gossip(run); }},
    KeyRule{"streams.compute",
            [](const Run& run) -> const char* {
              return draws_durations(run) ? nullptr : "no duration is drawn at random";
            }},
    KeyRule{"execution.max_backlog",
            [](const Run& run) -> const char* {
              if (!gossips(run)) return kNobodyGossips;
              return simulates(run) && instant(run) ? kInstant : nullptr;
            }},
    KeyRule{"execution.virtual", &simulation_without},
    KeyRule{"execution.virtual.gradient_clock",
            [](const Run& run) -> const char* {
              return pairwise(run) ? nullptr : "the rounds of a synchronous method have durations";
            }},
    KeyRule{"execution.virtual.network.latency_seconds", &of_messages},
    KeyRule{"execution.virtual.network.bandwidth_bytes_per_second", &of_messages},
    KeyRule{"execution.virtual.network.edges", &of_links},
    KeyRule{"execution.virtual.network.hubs",
            [](const Run& run) -> const char* {
              return run.method.hubs ? nullptr : "no algorithm here has hubs";
            }},
    KeyRule{"execution.virtual.network.all_reduce",
            [](const Run& run) -> const char* {
              if (alone(run)) return kAlone;
              if (instant(run)) return kInstant;
              return reduces(run) ? nullptr : "no algorithm here does an all-reduce";
            }},
    KeyRule{"execution.virtual.cost.buckets", &of_buckets},
    KeyRule{"execution.virtual.cost.forward_share", &of_buckets},
    KeyRule{"execution.threads",
            [](const Run& run) -> const char* {
              return has_driver(run, DriverKind::threads) ? nullptr : "the driver is not threads";
            }},
    KeyRule{"execution.threads.exchange_threads", &of_gossip},
    KeyRule{"execution.mpi",
            [](const Run& run) -> const char* {
              return has_driver(run, DriverKind::mpi) ? nullptr : "the driver is not mpi";
            }},
    KeyRule{"execution.mpi.on_loss",
            [](const Run& run) -> const char* {
              const auto& mpi = run.settings.execution.mpi;
              return mpi && mpi->go_on && !pairwise(run)
                         ? "rounds of a synchronous method need everybody, so it restarts"
                         : nullptr;
            }},
    KeyRule{"execution.mpi.all_reduce",
            [](const Run& run) -> const char* {
              return reduces(run) ? nullptr : "no algorithm here does an all-reduce";
            }},
};

const Node* node_at(const Node& tree, std::string_view path) {
  const Node* node = &tree;
  for (const std::string& name : split_path(path)) {
    node = node->find(name);
    if (node == nullptr) return nullptr;
  }
  return node;
}

const char* of_algorithm(const Run& run, const Field& option) {
  if (option.needs_peers && alone(run)) return kAlone;
  if (run.entry.no_effect == nullptr) return nullptr;
  return run.entry.no_effect(option.name, run.settings.algorithm, gossips(run));
}

}  // namespace

void UnusedKeys::look_at(const Node& tree, const Run& run) {
  std::string_view unused_table;  // what is in it needs no finding of its own
  for (const KeyRule& rule : kRules) {
    const Node* node = node_at(tree, rule.path);
    if (node == nullptr) continue;
    if (!unused_table.empty() && rule.path.starts_with(unused_table)) continue;
    const char* why_not = rule.why_not(run);
    if (why_not != nullptr && node->is_table()) unused_table = rule.path;
    add(std::string(rule.path), node->key_place, why_not);
  }
  for (const Field& option : run.entry.fields) {
    const std::string path = fmt::format("algorithm.{}", option.name);
    if (const Node* node = node_at(tree, path))
      add(path, node->key_place, of_algorithm(run, option));
  }
}

void UnusedKeys::add(const std::string& path, const Place& place, const char* why_not) {
  const auto key = std::tuple(place.override_index, place.line, place.column, path);
  Finding& finding = written_.try_emplace(key, Finding{place, false, {}}).first->second;
  if (why_not == nullptr)
    finding.used = true;
  else
    finding.problem = {fmt::format("{} has no effect: {}", path, why_not),
                       "remove it, or make a run use it"};
}

void UnusedKeys::warn(Diagnostics& diagnostics) const {
  for (const auto& [key, finding] : written_)
    if (!finding.used) diagnostics.warn(finding.place, finding.problem);
}

}  // namespace acid
