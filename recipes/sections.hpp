#pragma once

#include <nlohmann/json.hpp>
#include <set>
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

/// Check sections with keys that depend on each other. `node`: nullptr if the recipe has no such
/// section. They return the completed section; resolve.hpp checks sections against each other.
nlohmann::json check_task(Checker& checker, const Node* node);
nlohmann::json check_optimizer(Checker& checker, const Node* node);
nlohmann::json check_algorithm(Checker& checker, const Node* node);
nlohmann::json check_execution(Checker& checker, const Node* node);
nlohmann::json check_budget(Checker& checker, const Node* node);
nlohmann::json check_record(Checker& checker, const Node* node);

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

/// `tree` holds the run's sections and "algorithm".
Draft check_sections(Checker& checker, const Node& tree);

}  // namespace acid
