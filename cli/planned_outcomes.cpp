#include "cli/planned_outcomes.hpp"

#include <cmath>
#include <set>

#include "recipes/comparison.hpp"
#include "reports/realised_rate.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

bool may_end_earlier(const Budget& budget) {
  return std::isfinite(budget.seconds) || std::isfinite(budget.bytes) || budget.target;
}

/// Gradients are known where nothing ends the run earlier, bytes where no exchange is drawn
/// besides; what time it takes nobody knows.
PlannedOutcome outcome_of(const PlannedRun& run) {
  PlannedOutcome planned{
      .group = run.group,
      .algorithm = run.algorithm,
      .label = run.label,
      .seed = run.seed,
      .settings = run.settings,
      .has_gradients = run.budget_gradients > 0,
      .always_agrees = always_agrees(run),
      .ends = {
          {PositionAxis::gradients, {}}, {PositionAxis::seconds, {}}, {PositionAxis::bytes, {}}}};
  if (may_end_earlier(settings_from(run.settings).budget)) return planned;
  planned.ends[PositionAxis::gradients] = static_cast<double>(run.budget_gradients);
  if (!nominal_rate(run.settings)) planned.ends[PositionAxis::bytes] = run.bytes;
  return planned;
}

}  // namespace

PlannedVerdict verdict_of(const Plan& plan) {
  const ComparisonPlan comparison = comparison_plan_from(plan.comparison);
  std::vector<PlannedOutcome> runs;
  if (!plan.search) {
    for (const PlannedRun& run : plan.runs) runs.push_back(outcome_of(run));
    return planned_verdict(runs, comparison);
  }
  // Which value is chosen makes no difference to how many comparisons there are.
  std::set<std::string> chosen;
  for (const std::vector<std::string>& cell : plan.search->cells) chosen.insert(cell.front());
  for (const PlannedRun& run : plan.search->finals)
    if (chosen.contains(run.group)) runs.push_back(outcome_of(run));
  return planned_verdict(runs, comparison);
}

}  // namespace acid
