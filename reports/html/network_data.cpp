#include <algorithm>
#include <cmath>
#include <map>

#include "engine/base/error.hpp"
#include "engine/methods/method.hpp"
#include "engine/topology/topology.hpp"
#include "reports/html/report_data.hpp"
#include "reports/realised_rate.hpp"

namespace acid {
namespace {

using nlohmann::json;

/// The number at a key of an object; nothing when it is absent or no number.
std::optional<double> number_at(const json& object, const std::string& key) {
  if (!object.is_object() || !object.contains(key) || !object.at(key).is_number())
    return std::nullopt;
  return object.at(key).get<double>();
}

int grid_columns(const json& topology, int workers) {
  if (!topology.is_object() || topology.value("kind", "") != "torus") return 0;
  int rows = static_cast<int>(number_at(topology, "rows").value_or(0));
  if (rows <= 0)
    for (int divisor = 1; divisor <= workers / divisor; ++divisor)
      if (workers % divisor == 0) rows = divisor;
  return rows > 0 ? workers / rows : 0;
}

void edges_from_settings(GroupNetwork& network, const json& topology) {
  if (network.workers > kMostDrawnWorkers) return;
  try {
    make_topology(network.workers, topology).for_each_edge([&](const Edge& edge) {
      network.edges.push_back({edge.i, edge.j, 0, 0});
    });
  } catch (const std::exception&) {
    // The recipe's edge file may be gone, or a key unknown to this version; the page says that no
    // edges were recorded.
    network.edges.clear();
  }
}

void add_edges(GroupNetwork& network, const std::vector<const RunDetail*>& runs, bool saturated) {
  struct Sum {
    double nominal = 0, count = 0;
  };
  std::map<std::pair<int, int>, Sum> sums;
  double time = 0;
  for (const RunDetail* run : runs) {
    if (!run->result || run->result->edges.empty()) continue;
    time += run->result->position.normalised_time;
    for (const auto& edge : run->result->edges) {
      Sum& sum = sums[{edge.i, edge.j}];
      sum.nominal = saturated ? 0 : edge.nominal;  // as many as the network carries
      sum.count += static_cast<double>(edge.count);
    }
  }
  if (!(time > 0)) return;
  double statistic = 0;
  for (const auto& [pair, sum] : sums) {
    network.edges.push_back({pair.first, pair.second, sum.nominal, sum.count / time});
    const double expected = sum.nominal * time;
    if (expected > 0) statistic += (sum.count - expected) * (sum.count - expected) / expected;
  }
  // The counts are independent Poisson numbers, so there is a degree of freedom per edge.
  if (!sums.empty() && !saturated && std::isfinite(statistic))
    network.deviation_p = chi_squared_tail(statistic, static_cast<double>(sums.size()));
}

void add_workers(GroupNetwork& network, const std::vector<const RunDetail*>& runs) {
  const auto n = static_cast<std::size_t>(network.workers);
  int counted = 0, timed = 0;
  std::vector<double> gradients(n, 0.0), idle(n, 0.0);
  for (const RunDetail* run : runs) {
    if (!run->result) continue;
    const AttemptResult& result = *run->result;
    if (result.worker_gradients.size() == n) {
      ++counted;
      for (std::size_t i = 0; i < n; ++i)
        gradients[i] += static_cast<double>(result.worker_gradients[i]);
    }
    if (result.worker_idle_seconds.size() == n && result.position.seconds > 0) {
      ++timed;
      for (std::size_t i = 0; i < n; ++i)
        idle[i] += result.worker_idle_seconds[i] / result.position.seconds;
    }
  }
  for (double& value : gradients) value /= std::max(counted, 1);
  for (double& value : idle) value /= std::max(timed, 1);
  if (counted > 0) network.worker_gradients = gradients;
  if (timed > 0) network.worker_idle_share = idle;
}

void add_numbers(GroupNetwork& network, const ComparedGroup& group,
                 const std::vector<const RunDetail*>& runs) {
  const json algorithm = group.settings.is_object() && group.settings.contains("algorithm")
                             ? group.settings.at("algorithm")
                             : json::object();
  if (const auto rate = number_at(algorithm, "communication_rate")) network.numbers["rate"] = *rate;
  std::vector<std::string> keys{"chi1", "chi2"};
  for (const Shown& shown : shown_by({group.algorithm})) keys.emplace_back(shown.key);
  for (const std::string& key : keys)
    for (const json* source : {&algorithm, &runs.front()->plan})
      if (const auto value = number_at(*source, key)) network.numbers[key] = *value;
  const json& plan = runs.front()->plan;
  const auto add_of = [&](const char* table, const char* key, const char* name) {
    if (!plan.is_object() || !plan.contains(table) || !plan.at(table).is_object()) return;
    if (const auto value = number_at(plan.at(table), key)) network.numbers[name] = *value;
  };
  add_of("agreement", "left", "left");
  add_of("agreement", "exchanges_per_gradient", "exchanges");
  add_of("schedule", "chi1", "expected_chi1");
  add_of("schedule", "chi2", "expected_chi2");
  add_of("schedule", "left", "period_left");
  if (const auto chi1 = network.numbers.find("chi1");
      chi1 != network.numbers.end() && chi1->second > 0)
    network.numbers["lambda2"] = 1 / chi1->second;
  std::map<std::string, std::vector<double>> realised;
  for (const RunDetail* run : runs) {
    if (!run->result || run->result->edges.empty()) continue;
    if (run->result->exchanges_drawn == 0) continue;  // a method without exchanges
    realised["realised_rate"].push_back(run->result->realised_rate);
    if (run->result->realised_chi1)
      realised["realised_chi1"].push_back(*run->result->realised_chi1);
    if (run->result->realised_chi2)
      realised["realised_chi2"].push_back(*run->result->realised_chi2);
  }
  for (const auto& [name, values] : realised) network.numbers[name] = estimate(values).mean;
}

}  // namespace

GroupNetwork network_of(const ComparedGroup& group, const std::vector<const RunDetail*>& runs) {
  ACID_ASSERT(!runs.empty(), "group {} has no runs", group.group);
  GroupNetwork network;
  network.workers = runs.front()->summary.workers;
  const json topology = group.settings.is_object() && group.settings.contains("topology")
                            ? group.settings.at("topology")
                            : json();
  network.kind = topology.is_object() ? topology.value("kind", "") : runs.front()->summary.topology;
  network.grid_columns = grid_columns(topology, network.workers);
  add_edges(network, runs, saturates(group.settings));
  if (network.edges.empty()) edges_from_settings(network, topology);
  add_workers(network, runs);
  add_numbers(network, group, runs);
  return network;
}

}  // namespace acid
