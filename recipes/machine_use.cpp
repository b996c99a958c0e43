#include "recipes/machine_use.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/base/names.hpp"
#include "engine/base/quantiles.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

using nlohmann::json;
using Entry = Machine::Gradients;

constexpr const char* kSimulatedKeys = "execution.virtual";

// A whole number; 1 in the place of anything else.
int whole_in(const Node* node) {
  if (node == nullptr || node->type != Node::Type::integer) return 1;
  return static_cast<int>(std::clamp<std::int64_t>(node->scalar.get<std::int64_t>(), 1, 1'000'000));
}

Node node_from(const json& value, const Place& place) {
  Node node;
  node.place = node.key_place = place;
  node.origin = Origin::machine;
  if (value.is_object() || value.is_array()) {
    node.type = value.is_object() ? Node::Type::table : Node::Type::list;
    for (const auto& [key, item] : value.items()) {
      node.children.push_back(node_from(item, place));
      if (value.is_object()) node.children.back().key = key;
    }
    return node;
  }
  node.scalar = value;
  node.type = value.is_string()           ? Node::Type::text
              : value.is_number_integer() ? Node::Type::integer
                                          : Node::Type::number;
  return node;
}

// Sets a key unless the recipe has it, or something else in the place of its table.
void add_default(Node& tree, std::string_view path, const json& value, const Place& place) {
  Node* node = &tree;
  for (const std::string& name : split_path(path)) {
    if (!node->is_table()) return;
    Node* next = node->find(name);
    if (next == nullptr) {
      node->children.push_back(node_from(json::object(), place));
      next = &node->children.back();
      next->key = name;
    }
    node = next;
  }
  if (node->origin != Origin::machine || !node->is_table() || !node->children.empty()) return;
  const std::string key = node->key;
  *node = node_from(value, place);
  node->key = key;
}

/// Between two counts of workers, or at one.
struct Interval {
  const Entry *below = nullptr, *above = nullptr;
  double share = 0;  // of `above`
};

/// The durations of an entry by their probability. `entry` outlives the result.
auto durations_of(const Entry& entry) {
  const double unit =
      entry.quantiles.empty() ? 1 : entry.mean_seconds / mean_of_quantiles(entry.quantiles);
  return [&entry, unit](double probability) {
    return entry.quantiles.empty() ? entry.mean_seconds
                                   : unit * quantile_at(entry.quantiles, probability);
  };
}

MeasuredPace pace_between(const Interval& at) {
  MeasuredPace pace;
  pace.mean_seconds = std::lerp(at.below->mean_seconds, at.above->mean_seconds, at.share);
  const std::size_t count = std::max(at.below->quantiles.size(), at.above->quantiles.size());
  const auto below = durations_of(*at.below), above = durations_of(*at.above);
  for (std::size_t k = 0; k < count; ++k) {
    const double probability = static_cast<double>(k) / static_cast<double>(count - 1);
    pace.quantiles.push_back(std::lerp(below(probability), above(probability), at.share));
  }
  if (count > 0) pace.quantiles = with_mean_1(std::move(pace.quantiles));
  return pace;
}

std::vector<const Entry*> entries_of(const Machine& machine, const std::string& host, int threads) {
  std::vector<const Entry*> entries;
  for (const Entry& entry : machine.gradients)
    if (entry.host == host && entry.threads == threads) entries.push_back(&entry);
  std::ranges::sort(entries, {}, &Entry::workers_per_node);
  return entries;
}

std::optional<Interval> interval_of(const std::vector<const Entry*>& entries, int workers) {
  const auto above = std::ranges::lower_bound(entries, workers, {}, &Entry::workers_per_node);
  if (above == entries.end()) return std::nullopt;
  if ((*above)->workers_per_node == workers) return Interval{*above, *above, 0};
  if (above == entries.begin()) return std::nullopt;
  const Entry* const below = *(above - 1);
  return Interval{below, *above,
                  static_cast<double>(workers - below->workers_per_node) /
                      ((*above)->workers_per_node - below->workers_per_node)};
}

std::vector<std::string> hosts_of(const Machine& machine) {
  std::vector<std::string> hosts;
  for (const Entry& entry : machine.gradients)
    if (std::ranges::find(hosts, entry.host) == hosts.end()) hosts.push_back(entry.host);
  return hosts;
}

// The mean of several hosts, each of which keeps its own factor.
MeasuredPace joined_paces(const std::vector<MeasuredPace>& paces) {
  if (paces.size() == 1) return paces.front();
  MeasuredPace all;
  std::size_t count = 0;
  for (const MeasuredPace& pace : paces) {
    all.mean_seconds += pace.mean_seconds / static_cast<double>(paces.size());
    count = std::max(count, pace.quantiles.size());
  }
  for (const MeasuredPace& pace : paces)
    all.host_factors.push_back(pace.mean_seconds / all.mean_seconds);
  for (std::size_t k = 0; k < count; ++k) {
    double sum = 0;
    for (const MeasuredPace& pace : paces)
      sum += pace.quantiles.empty()
                 ? 1
                 : quantile_at(pace.quantiles,
                               static_cast<double>(k) / static_cast<double>(count - 1));
    all.quantiles.push_back(sum);
  }
  if (count > 0) all.quantiles = with_mean_1(std::move(all.quantiles));
  return all;
}

/// Where the run's workers are.
struct Placement {
  std::vector<int> nodes;     // of each worker
  std::vector<int> on_nodes;  // workers on each node
};

Placement placement_of(const Node& tree, int workers) {
  std::vector<int> counts;
  const Node* const given = tree.at("execution.virtual.network.workers_per_node");
  if (given != nullptr && given->is_list())
    for (const Node& count : given->children)
      if (count.type == Node::Type::integer) counts.push_back(whole_in(&count));
  if (counts.empty()) counts = {whole_in(given)};
  Placement placement;
  for (int node = 0; static_cast<int>(placement.nodes.size()) < workers; ++node) {
    const int count =
        counts[std::min<std::size_t>(static_cast<std::size_t>(node), counts.size() - 1)];
    for (int k = 0; k < count && static_cast<int>(placement.nodes.size()) < workers; ++k)
      placement.nodes.push_back(node);
    placement.on_nodes.push_back(static_cast<int>(std::ranges::count(placement.nodes, node)));
  }
  return placement;
}

// Hosts that were measured each have workers, as a launcher places them.
std::optional<int> workers_on_hosts(const Machine& machine, int workers) {
  const auto hosts = static_cast<int>(hosts_of(machine).size());
  if (!machine.workers_per_node || hosts < 2) return machine.workers_per_node;
  return std::min(*machine.workers_per_node, (workers + hosts - 1) / hosts);
}

std::optional<double> positive(double value) {
  return value > 0 ? std::optional(value) : std::nullopt;
}

/// Adds one machine's numbers to one run.
class MachineKeys {
 public:
  MachineKeys(Node& tree, const Machine& machine, const Place& place)
      : tree_(tree),
        machine_(machine),
        place_(place),
        workers_(whole_in(tree.at("workers.count"))) {}

  std::optional<Problem> add() {
    add_network();
    put("variation", machine_.variation);
    put("cost.bucket_bytes", machine_.cost.bucket_bytes);
    const Placement placement = placement_of(tree_, workers_);
    const Node* const clock = tree_.at("execution.virtual.gradient_clock");
    const bool lasts = clock == nullptr || (clock->is_text() && clock->text() == "duration");
    if (lasts) put("cost.exchange_seconds", machine_.cost.exchange_seconds);
    if (auto problem = add_gradients(placement, lasts)) return problem;
    if (placement.nodes.back() == 0 || machine_.network.between.is_known() || recipe_has_ways())
      return std::nullopt;
    return Problem{
        fmt::format("its network was not measured, and {} workers are on {} nodes", workers_,
                    placement.nodes.back() + 1),
        "put all workers on one node with network.workers_per_node, or write the network's "
        "latency_seconds and bandwidth_bytes_per_second"};
  }

 private:
  bool has(const char* key) const {
    const Node* const node = tree_.at(fmt::format("{}.{}", kSimulatedKeys, key));
    return node != nullptr && node->origin != Origin::machine;
  }
  /// Whether the recipe itself says how long messages between nodes take.
  bool recipe_has_ways() const {
    return has("network.latency_seconds") || has("network.bandwidth_bytes_per_second") ||
           has("network.edges") || has("network.matrix");
  }
  template <class V>
  void put(const char* key, const std::optional<V>& value) {
    if (value) add_default(tree_, fmt::format("{}.{}", kSimulatedKeys, key), *value, place_);
  }

  void add_network() {
    const Machine::Network& network = machine_.network;
    put("network.latency_seconds", network.between.latency_seconds);
    put("network.bandwidth_bytes_per_second", network.between.bytes_per_second);
    const bool one_node =
        !network.between.is_known() && !machine_.workers_per_node && !recipe_has_ways();
    put("network.workers_per_node",
        one_node ? std::optional(workers_) : workers_on_hosts(machine_, workers_));
    if (network.inside) {
      put("network.inside.latency_seconds", network.inside->latency_seconds);
      put("network.inside.bandwidth_bytes_per_second", network.inside->bytes_per_second);
    }
    put("network.all_reduce", network.all_reduce);
    put("network.backend_factor", network.backend_factor);
    if (network.overhead) {
      put("network.overhead.exchange_seconds", positive(network.overhead->exchange_seconds));
      put("network.overhead.neighbours_seconds", positive(network.overhead->neighbours_seconds));
      put("network.overhead.all_reduce_seconds", positive(network.overhead->all_reduce_seconds));
    }
    if (network.window_bytes)
      put("network.window_bytes", std::optional(static_cast<std::int64_t>(*network.window_bytes)));
  }

  std::optional<Problem> add_gradients(const Placement& placement, bool lasts) {
    if (machine_.gradients.empty() || has("network.gradient_seconds")) return std::nullopt;
    Problem why_not;
    const auto pace = measured_pace(machine_, placement.on_nodes,
                                    whole_in(tree_.at("execution.threads_per_worker")), why_not);
    if (!pace) return why_not;
    put("network.gradient_seconds", std::optional(pace->mean_seconds));
    if (!lasts) return std::nullopt;
    if (!pace->quantiles.empty())
      put("compute", std::optional(json{{"kind", "measured"}, {"quantiles", pace->quantiles}}));
    if (pace->host_factors.empty()) return std::nullopt;
    json factors = json::object();
    for (std::size_t worker = 0; worker < placement.nodes.size(); ++worker)
      factors[std::to_string(worker)] =
          pace->host_factors[static_cast<std::size_t>(placement.nodes[worker]) %
                             pace->host_factors.size()];
    put("slow_workers", std::optional(factors));
    return std::nullopt;
  }

  Node& tree_;
  const Machine& machine_;
  const Place place_;
  const int workers_;
};

std::string counts_of(const std::vector<const Entry*>& entries) {
  std::set<int> counts;
  for (const Entry* const entry : entries) counts.insert(entry->workers_per_node);
  return fmt::format("{}", fmt::join(counts, ", "));
}

}  // namespace

std::optional<MeasuredPace> measured_pace(const Machine& machine,
                                          const std::vector<int>& workers_on_nodes, int threads,
                                          Problem& why_not) {
  constexpr const char* kOwn =
      "calibrate it for such a run, or write network.gradient_seconds yourself";
  std::vector<MeasuredPace> paces;
  const std::vector<std::string> hosts = hosts_of(machine);
  // Nodes take hosts in turn; some hosts may have none.
  for (std::size_t h = 0; h < std::min(hosts.size(), workers_on_nodes.size()); ++h) {
    const std::string& host = hosts[h];
    int workers = 0;
    for (std::size_t node = h; node < workers_on_nodes.size(); node += hosts.size())
      workers = std::max(workers, workers_on_nodes[node]);
    const auto entries = entries_of(machine, host, threads);
    const std::string where = host.empty() ? "" : " on " + host;
    if (entries.empty()) {
      why_not = {fmt::format("its gradients were not measured with {} per worker{}",
                             counted(static_cast<std::uint64_t>(threads), "thread"), where),
                 kOwn};
      return std::nullopt;
    }
    const auto at = interval_of(entries, workers);
    if (!at) {
      why_not = {fmt::format("its gradients were measured with {} workers on a host{}, not with {}",
                             counts_of(entries), where, workers),
                 fmt::format("change network.workers_per_node; {}", kOwn)};
      return std::nullopt;
    }
    paces.push_back(pace_between(*at));
  }
  return joined_paces(paces);
}

const Machine* Machines::find(const Node& name) {
  const auto [known, is_new] = read_.try_emplace(name.text());
  if (!is_new) return known->second ? &*known->second : nullptr;
  try {
    const NamedMachine named = find_machine(name.text(), folder_);
    Diagnostics mistakes(named.path.empty() ? named.name : named.path, named.text, {});
    known->second = read_machine(named.text, mistakes);
    if (mistakes.has_errors()) out_->adopt(mistakes);
  } catch (const UsageError& error) {
    out_->error(name.place, fmt::format("execution.virtual.machine: {}", error.what()),
                "'acid machines' lists those that there are");
  }
  return known->second ? &*known->second : nullptr;
}

Machines::Use Machines::apply_to(Node& tree) {
  const Node* const name = tree.at("execution.virtual.machine");
  if (name == nullptr || !name->is_text()) return {};
  if (const Node* const driver = tree.at("execution.driver");
      driver != nullptr && !(driver->is_text() && simulates(driver->text())))
    return {};
  Use use{.machine = find(*name), .place = name->place};
  if (use.machine == nullptr) return use;
  const std::string called = name->text();
  use.refusal = MachineKeys(tree, *use.machine, use.place).add();
  if (use.refusal)
    use.refusal->message =
        fmt::format("the machine '{}' does not fit: {}", called, use.refusal->message);
  return use;
}

void Machines::look_at_model(const Use& use, const PlannedRun& run) {
  if (use.machine == nullptr || !use.machine->model || run.parameters == 0) return;
  const Machine::Model& measured = *use.machine->model;
  const RunSettings settings = settings_from(run.settings);
  const NetworkModel& network = settings.execution.simulation.network;
  if (const std::optional<int> batch = settings.task.batch_size;
      measured.batch_size && batch && *batch != *measured.batch_size)
    out_->warn(use.place,
               {fmt::format("the machine's gradients are of {} examples, and this recipe's are of "
                            "{}: they last as long as there",
                            *measured.batch_size, *batch),
                "calibrate the machine with this recipe, or write network.gradient_seconds"});
  if (measured.parameters == run.parameters || network.vector_bytes) return;
  out_->warn(use.place,
             {fmt::format("the machine's gradients are of {}, with {} parameters, and this model "
                          "has {}: gradients last as long as there, messages are smaller or larger",
                          measured.name, measured.parameters, run.parameters),
              fmt::format("write execution.virtual.network.vector_bytes = {} to simulate the "
                          "messages of that model, too, or calibrate the machine for this one",
                          4 * measured.parameters)});
}

}  // namespace acid
