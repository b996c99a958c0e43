#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/checker.hpp"
#include "recipes/node.hpp"

namespace acid {

/// The names of the sections that sweeps, --set and an algorithm's `set` can reach, besides
/// "algorithm".
std::vector<std::string> run_sections();
/// The table of such a section, or of "algorithm".
const FieldTable& table_of(std::string_view section);

/// Reports a key at the top of a recipe that is none of the known ones. It may be one of a run's
/// settings, written as --over takes it, without the tables around it.
void refuse_top_key(Checker& checker, const Node& key, std::span<const std::string> known);

/// Checks keys of [execution] that depend on each other, and returns the completed section. `node`:
/// nullptr if the recipe has no such section.
nlohmann::json check_execution(Checker& checker, const Node* node);
/// Reports if so many processes do not fit on the listed hosts of its table `mpi`.
void check_room_on_hosts(const nlohmann::json& mpi, int workers, const Report& report);
/// The keys of execution.virtual.network about nodes, into its resolved JSON: workers_per_node as a
/// list, and the lines of the file that `matrix` names as a list of {nodes, latency_seconds,
/// bandwidth_bytes_per_second}, where null is the network's. `node`: the network's table.
void check_nodes(Checker& checker, const Node* node, nlohmann::json& network);
/// Reports nodes that have other workers than the recipe, and links of nodes that do not exist.
void check_nodes_fit(const nlohmann::json& network, int workers, const Report& report);

/// Settings with every section completed, not yet checked against each other.
struct Draft {
  nlohmann::json settings;
  std::set<std::string> broken;  // sections with errors; do not read them
  double share = 1;  // of its budget that a run has: less than all in the rungs of a search

  bool sound(std::initializer_list<const char*> sections) const {
    for (const char* section : sections)
      if (broken.contains(section)) return false;
    return true;
  }
};

/// Checks each section by itself; Resolver checks them against each other. `tree` holds the run's
/// sections and "algorithm".
Draft check_sections(Checker& checker, const Node& tree);

}  // namespace acid
