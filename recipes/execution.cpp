#include <fmt/format.h>

#include <algorithm>

#include "engine/base/quantiles.hpp"
#include "recipes/execution_mpi.hpp"
#include "recipes/node_links.hpp"
#include "recipes/sections.hpp"
#include "settings/drivers.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::int64_t kFirstBucketBytes = 1 << 20;

const Node* member(const Node* node, std::string_view name) {
  return node == nullptr ? nullptr : node->find(name);
}

json no_slowdown() { return {{"probability", 0.0}, {"factor", 1.0}}; }

// Keys that a link leaves out have the network's values.
void fill_link(json& link, const json& network) {
  for (const char* key : {"latency_seconds", "bandwidth_bytes_per_second"})
    if (link[key].is_null()) link[key] = network[key];
}

void check_links(Checker& checker, const Node* node, json& network) {
  json& links = network["edges"];
  for (std::size_t i = 0; i < links.size(); ++i) {
    const json& edge = links[i]["edge"];
    if (edge.is_array() && (edge.size() != 2 || edge[0] == edge[1]))
      checker.diagnostics().error(
          place_of(member(node, "edges")->children[i], "edge"),
          fmt::format("execution.virtual.network.edges[{}].edge must name two workers", i),
          "write edge = [0, 1]");
    fill_link(links[i], network);
  }
  if (network.contains("hubs")) fill_link(network["hubs"], network);
  check_nodes(checker, node, network);
  if (network.contains("matrix"))
    for (json& link : network["matrix"]) fill_link(link, network);
}

void check_vector_bytes(Checker& checker, const Node* node, const json& network) {
  const auto found = network.find("vector_bytes");
  if (found == network.end()) return;
  const auto bytes = found->get<std::int64_t>();
  constexpr std::int64_t kEach = sizeof(float);
  if (bytes % kEach == 0) return;
  checker.diagnostics().error(
      member(node, "vector_bytes")->place,
      fmt::format("execution.virtual.network.vector_bytes: {} bytes are no whole number of "
                  "parameters of {} bytes each",
                  bytes, kEach),
      fmt::format("write a multiple of {}, such as {}", kEach, bytes / kEach * kEach + kEach));
}

// Either equal buckets or sizes.
void complete_cost(json& cost) {
  if (cost.contains("buckets")) {
    cost["bucket_bytes"] = cost["first_bucket_bytes"] = nullptr;
    return;
  }
  cost["buckets"] = nullptr;
  if (cost["first_bucket_bytes"].is_null() && cost["bucket_bytes"].is_number_integer())
    cost["first_bucket_bytes"] =
        std::min(kFirstBucketBytes, cost["bucket_bytes"].get<std::int64_t>());
}

void check_quantiles(Checker& checker, const Node* node, const json& compute) {
  const auto found = compute.find("quantiles");
  if (found == compute.end() || !found->is_array()) return;
  if (const char* wrong = why_no_quantiles(found->get<std::vector<double>>()))
    checker.diagnostics().error(
        place_of(*node, "compute.quantiles"),
        fmt::format("execution.virtual.compute.quantiles {}", wrong),
        "list the shortest duration, those at evenly spaced probabilities, and the longest");
}

// Refuses durations of gradients that are instantaneous or do not exist.
void check_durations(Checker& checker, const Node* node, const json& model) {
  if (node == nullptr || model["gradient_clock"] == "duration") return;
  const std::string clock = model["gradient_clock"].is_string()
                                ? model["gradient_clock"].get<std::string>()
                                : std::string();
  const auto refuse_unless = [&](bool unused, const char* key) {
    if (unused) return;
    checker.diagnostics().error(
        place_of(*node, key),
        fmt::format("execution.virtual.{} has no effect with gradient_clock = \"{}\"", key, clock),
        "remove it, or use gradient_clock = \"duration\", where gradients take time");
  };
  refuse_unless(model["compute"].value("kind", "constant") == "constant", "compute");
  refuse_unless(model["slow_workers"].empty(), "slow_workers");
  refuse_unless(model["random_slowdown"] == no_slowdown(), "random_slowdown");
  refuse_unless(model["pauses"].empty(), "pauses");
  refuse_unless(model["cost"].value("optimizer_share", json()) == 0.0, "cost.optimizer_share");
  refuse_unless(!model["cost"].contains("exchange_seconds"), "cost.exchange_seconds");
}

}  // namespace

json check_execution(Checker& checker, const Node* node) {
  json execution = checker.table(node, "execution", table_of("execution"));
  const Node* const simulated = member(node, "virtual");
  json& model = execution["virtual"];
  check_links(checker, member(simulated, "network"), model["network"]);
  check_vector_bytes(checker, member(simulated, "network"), model["network"]);
  complete_cost(model["cost"]);
  check_quantiles(checker, simulated, model["compute"]);
  check_durations(checker, simulated, model);
  check_mpi(checker, member(node, "mpi"), execution["mpi"]);
  if (execution.contains("predict_runs") && execution["predict_runs"] == 1)
    checker.diagnostics().error(member(node, "predict_runs")->place,
                                "execution.predict_runs = 1: one run has no interval",
                                "write at least 2, or 0 to predict seconds and bytes alone");
  // Other runs do not have it: they were digested before there was such a table.
  for (const DriverEntry& driver : driver_catalog())
    if (table_of("execution").find(driver.name)->added && execution["driver"] != driver.name)
      execution.erase(std::string(driver.name));
  return execution;
}

}  // namespace acid
