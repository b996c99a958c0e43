#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/base/quantiles.hpp"
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
  std::set<std::pair<json, json>> named;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const json& edge = links[i]["edge"];
    const auto refuse = [&](const char* why, const char* remedy) {
      checker.diagnostics().error(
          place_of(member(node, "edges")->children[i], "edge"),
          fmt::format("execution.virtual.network.edges[{}].edge {}", i, why), remedy);
    };
    if (edge.is_array() && (edge.size() != 2 || edge[0] == edge[1]))
      refuse("must name two workers", "write edge = [0, 1]");
    else if (edge.is_array() && !named.insert(std::minmax(edge[0], edge[1])).second)
      refuse("has been named before", "give each link once, with all that differs");
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

constexpr const char* kPath = "execution.mpi";

// A key that only some launchers support, and what to do instead.
struct Obedience {
  std::string_view key;
  const char* with_srun;  // nullptr: srun supports it
  const char* with_none;
};
constexpr const char* kPlacedAlready =
    "remove it: with launcher \"none\" you place the processes yourself";
constexpr std::array kObedience = {
    Obedience{"hosts", "remove it, or put --nodelist into execution.mpi.arguments", kPlacedAlready},
    Obedience{"hostfile", "remove it, or put --nodefile into execution.mpi.arguments",
              kPlacedAlready},
    Obedience{"processes_per_host", nullptr, kPlacedAlready},
    Obedience{"arguments", nullptr, "remove it: acid starts no launcher"},
};

json texts_of(Checker& checker, const Node* node, const std::string& path,
              std::string_view example) {
  json texts = json::array();
  if (node == nullptr ||
      !checker.is_type(node, Node::Type::list, path, fmt::format("a list of texts {}", example)))
    return texts;
  for (std::size_t i = 0; i < node->children.size(); ++i) {
    const Node& child = node->children[i];
    if (checker.is_type(&child, Node::Type::text, fmt::format("{}[{}]", path, i), "text in quotes"))
      texts.push_back(child.text());
  }
  return texts;
}

// Plain host names: what mpirun's syntax adds to a name has its own key here.
json hosts_of(Checker& checker, const Node* node) {
  const std::string path = fmt::format("{}.hosts", kPath);
  json hosts = texts_of(checker, node, path, "[\"node1\", \"node2\"]");
  if (node == nullptr || hosts.size() != node->children.size()) return hosts;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string name = hosts[i];
    const Place& place = node->children[i].place;
    if (name.empty() || name.find_first_of(", \t:") != std::string::npos || name.front() == '-')
      checker.diagnostics().error(
          place, fmt::format("{}[{}] must be the name of one host, not '{}'", path, i, name),
          "list each host by itself; say how many processes each gets with processes_per_host, or "
          "use a hostfile");
    else if (std::find(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(i), name) !=
             hosts.begin() + static_cast<std::ptrdiff_t>(i))
      checker.diagnostics().error(place, fmt::format("{} names '{}' twice", path, name),
                                  "list each host once; processes_per_host says how many "
                                  "processes each gets");
  }
  return hosts;
}

bool is_range_of_ports(const std::string& text) {
  int first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, first);
  if (low.ec != std::errc() || low.ptr == end || *low.ptr != '-') return false;
  const auto high = std::from_chars(low.ptr + 1, end, last);
  if (high.ec != std::errc() || high.ptr != end) return false;
  return first >= 1 && first <= last && last <= 65535;
}

void check_texts(Checker& checker, const Node& node, const json& section) {
  const auto refuse = [&](const char* key, const std::string& what, const char* remedy) {
    checker.diagnostics().error(place_of(node, key), fmt::format("{}.{} {}", kPath, key, what),
                                remedy);
  };
  if (const json& ports = section["ports"]; ports.is_string() && !is_range_of_ports(ports))
    refuse("ports", fmt::format("must be a range of ports, not '{}'", ports.get<std::string>()),
           "write ports = \"20000-20100\", within 1 and 65535, with a port for every process of a "
           "host");
  if (section["on_loss"] == "go-on" && section["launcher"] == "srun")
    refuse("on_loss", "= \"go-on\" cannot be kept with launcher = \"srun\", which ends them all",
           "use launcher = \"mpirun\" or on_loss = \"restart\"");
  for (const char* key : {"hostfile", "interface"})
    if (section[key] == "") refuse(key, "is empty", "name it, or remove the key");
}

// Drops keys that the launcher does not support, if it was chosen later, as by --set.
void check_obedience(Checker& checker, const Node& node, json& section) {
  const std::string launcher = section["launcher"];
  const Node* chosen = node.find("launcher");
  if (launcher == "mpirun" || chosen == nullptr) return;
  for (const Obedience& each : kObedience) {
    const char* remedy = launcher == "srun" ? each.with_srun : each.with_none;
    const std::string key(each.key);
    const Node* given = node.find(key);
    if (remedy == nullptr || given == nullptr || section[key].empty()) continue;
    if (given->origin >= chosen->origin)
      checker.diagnostics().error(
          given->key_place,
          fmt::format("{}.{} has no effect with launcher = \"{}\"", kPath, key, launcher), remedy);
    section[key] = section[key].is_array() ? json::array() : json();
  }
}

// Checks the keys of [execution.mpi] that depend on each other. `node`: nullptr if the recipe has
// no such table.
void check_mpi(Checker& checker, const Node* node, json& section) {
  section["hosts"] = hosts_of(checker, member(node, "hosts"));
  if (section.contains("hostfile"))
    section["hosts"] = json::array();
  else
    section["hostfile"] = nullptr;
  section["arguments"] =
      texts_of(checker, member(node, "arguments"), fmt::format("{}.arguments", kPath),
               "[\"--mca\", \"btl\", \"tcp,self\"]");
  if (node == nullptr || !node->is_table()) return;
  check_texts(checker, *node, section);
  check_obedience(checker, *node, section);
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

void check_room_on_hosts(const json& mpi, int workers, const Report& report) {
  const json& each = mpi.at("processes_per_host");
  const auto hosts = static_cast<std::int64_t>(mpi.at("hosts").size());
  if (hosts == 0 || !each.is_number() || hosts * each.get<std::int64_t>() >= workers) return;
  report("execution.mpi.processes_per_host",
         {fmt::format("{} workers do not fit on {} with {} each", workers, counted(hosts, "host"),
                      each.get<std::int64_t>()),
          fmt::format("use processes_per_host = {}, more hosts or fewer workers",
                      (workers + hosts - 1) / hosts)});
}

}  // namespace acid
