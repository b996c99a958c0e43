#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "recipes/checker.hpp"
#include "recipes/node.hpp"

namespace acid {

/// One section of a run's settings. `check` takes the section's node (nullptr when the
/// recipe leaves it out) and returns it completed. What needs several sections is resolve.hpp's.
struct Section {
  std::string_view name;
  nlohmann::json (*check)(Checker& checker, const Node* node);
};

/// Every section that sweeps, --set and an algorithm's `set` can reach, besides "algorithm".
std::span<const Section> run_sections();

nlohmann::json check_task(Checker& checker, const Node* node);
nlohmann::json check_optimizer(Checker& checker, const Node* node);
nlohmann::json check_workers(Checker& checker, const Node* node);
nlohmann::json check_topology(Checker& checker, const Node* node);
nlohmann::json check_algorithm(Checker& checker, const Node* node);
nlohmann::json check_streams(Checker& checker, const Node* node);
nlohmann::json check_execution(Checker& checker, const Node* node);
/// The next three keep the cadence as it was given; resolve turns it into gradients and times.
nlohmann::json check_budget(Checker& checker, const Node* node);
nlohmann::json check_evaluation(Checker& checker, const Node* node);
nlohmann::json check_checkpoint(Checker& checker, const Node* node);
nlohmann::json check_record(Checker& checker, const Node* node);

/// Settings whose every section is complete by itself.
struct Draft {
  nlohmann::json settings;
  std::set<std::string> broken;  // sections with errors: not to be looked into

  bool sound(std::initializer_list<const char*> sections) const {
    for (const char* section : sections)
      if (broken.contains(section)) return false;
    return true;
  }
};

/// `tree` holds the run's sections and "algorithm".
Draft check_sections(Checker& checker, const Node& tree);

}  // namespace acid
