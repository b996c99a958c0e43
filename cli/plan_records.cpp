#include "cli/plan_records.hpp"

#include "engine/base/fields.hpp"
#include "settings/run_settings.hpp"

namespace acid {

ExperimentRecord experiment_record(const Plan& plan, const std::string& command_line) {
  nlohmann::json comparison = plan.comparison;
  if (!plan.left_out.empty()) comparison["left_out"] = to_json(plan.left_out);
  return {.id = plan.recipe_digest.substr(0, 12),
          .name = plan.name,
          .recipe_path = plan.recipe_path,
          .recipe_text = plan.recipe_text,
          .recipe_digest = plan.recipe_digest,
          .overrides = plan.overrides,
          .command_line = command_line,
          .search = {},
          .comparison = comparison};
}

std::vector<RunRecord> run_records(const std::vector<PlannedRun>& runs, bool of_search) {
  std::vector<RunRecord> records;
  for (const PlannedRun& run : runs) {
    const RunSettings settings = settings_from(run.settings);
    nlohmann::json rest = to_json(run);
    rest.erase("settings");  // the record has the settings itself
    rest.erase("graphs");    // they belong to this recipe; another recipe may share the run
    records.push_back({.id = run.id,
                       .algorithm = run.algorithm,
                       .label = run.label,
                       .seed = run.seed,
                       .digest = run.digest,
                       .group = run.group,
                       .settings = run.settings,
                       .driver = std::string(settings.execution.entry().name),
                       .topology = run.graph.kind,
                       .workers = run.workers,
                       .budget_gradients = run.budget_gradients,
                       .is_search = of_search,
                       .plan = rest});
  }
  return records;
}

}  // namespace acid
