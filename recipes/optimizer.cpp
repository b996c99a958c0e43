#include "recipes/sections.hpp"

namespace acid {
namespace {

void check_milestones(Checker& checker, const Node& node, const nlohmann::json& schedule) {
  const auto found = schedule.find("milestones");
  if (found == schedule.end()) return;
  const nlohmann::json& milestones = found->is_object() ? found->front() : *found;
  double last = 0;
  for (const nlohmann::json& milestone : milestones) {
    if (milestone.get<double>() <= last) {
      const std::string unit = found->is_object() ? "." + found->begin().key() : "";
      checker.diagnostics().error(place_of(node, "milestones" + unit),
                                  "optimizer.schedule.milestones must ascend",
                                  "sort them, each once: milestones = [0.5, 0.75]");
      return;
    }
    last = milestone.get<double>();
  }
}

}  // namespace

nlohmann::json check_optimizer(Checker& checker, const Node* node) {
  nlohmann::json optimizer = checker.table(node, "optimizer", table_of("optimizer"));
  const Node* schedule = node == nullptr ? nullptr : node->find("schedule");
  if (schedule != nullptr) check_milestones(checker, *schedule, optimizer["schedule"]);
  if (optimizer.value("nesterov", false) && optimizer.value("momentum", 0.0) == 0)
    checker.diagnostics().error(place_of(*node, "nesterov"),
                                "optimizer.nesterov needs momentum, which is 0",
                                "set momentum, such as 0.9, or remove nesterov");
  return optimizer;
}

}  // namespace acid
