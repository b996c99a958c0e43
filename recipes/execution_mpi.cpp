#include "recipes/execution_mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/base/names.hpp"

namespace acid {
namespace {

using nlohmann::json;

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

std::optional<std::pair<int, int>> ports_in(const std::string& text) {
  int first = 0, last = 0;
  const char* const end = text.data() + text.size();
  const auto low = std::from_chars(text.data(), end, first);
  if (low.ec != std::errc() || low.ptr == end || *low.ptr != '-') return std::nullopt;
  const auto high = std::from_chars(low.ptr + 1, end, last);
  if (high.ec != std::errc() || high.ptr != end) return std::nullopt;
  if (first < 1 || last > 65535 || first > last) return std::nullopt;
  return std::pair(first, last);
}

void check_texts(Checker& checker, const Node& node, const json& section) {
  const auto refuse = [&](const char* key, const std::string& what, const char* remedy) {
    checker.diagnostics().error(place_of(node, key), fmt::format("{}.{} {}", kPath, key, what),
                                remedy);
  };
  if (const json& ports = section["ports"]; ports.is_string() && !ports_in(ports))
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

}  // namespace

void check_mpi(Checker& checker, const Node* node, json& section) {
  const Node* table = node != nullptr && node->is_table() ? node : nullptr;
  const auto member = [&](std::string_view name) {
    return table == nullptr ? nullptr : table->find(name);
  };
  section["hosts"] = hosts_of(checker, member("hosts"));
  if (section.contains("hostfile"))
    section["hosts"] = json::array();
  else
    section["hostfile"] = nullptr;
  section["arguments"] = texts_of(checker, member("arguments"), fmt::format("{}.arguments", kPath),
                                  "[\"--mca\", \"btl\", \"tcp,self\"]");
  if (table == nullptr) return;
  check_texts(checker, *table, section);
  check_obedience(checker, *table, section);
}

void check_room_on_hosts(Diagnostics& diagnostics, const Node& tree, const json& section,
                         int workers) {
  const json& each = section.at("processes_per_host");
  const auto hosts = static_cast<std::int64_t>(section.at("hosts").size());
  if (hosts == 0 || !each.is_number() || hosts * each.get<std::int64_t>() >= workers) return;
  diagnostics.error(place_of(tree, "execution.mpi.processes_per_host"),
                    fmt::format("{} workers do not fit on {} with {} each", workers,
                                counted(hosts, "host"), each.get<std::int64_t>()),
                    fmt::format("use processes_per_host = {}, more hosts or fewer workers",
                                (workers + hosts - 1) / hosts));
}

}  // namespace acid
