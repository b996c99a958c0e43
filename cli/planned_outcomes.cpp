#include "cli/planned_outcomes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/methods/listed.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/comparison_section.hpp"
#include "reports/realised_rate.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

bool messages_are_free(const VirtualOptions& model) {
  return model.has_instant_exchanges() && (!model.network.hubs || model.network.hubs->is_instant());
}

/// The simulated seconds of a run when they can be known: nothing is drawn at random and messages
/// are free. In rounds all wait for the slowest worker; elsewhere faster workers compute more
/// meanwhile.
std::optional<PlannedEnd> end_in_seconds(const Method& method, const RunSettings& settings,
                                         double gradients) {
  const VirtualOptions& model = settings.execution.simulation;
  const ComputeModel& compute = model.compute;
  if (!settings.execution.entry().simulates || !messages_are_free(model) || !compute.pauses.empty())
    return std::nullopt;
  if (method.has_meetings() && model.gradient_clock == GradientClock::poisson)
    return PlannedEnd::drawn_around(gradients * compute.gradient_seconds,
                                    gradients * settings.workers);
  if (compute.kind != ComputeKind::constant || compute.slowdown_probability > 0)
    return std::nullopt;
  double slowest = 1;
  if (!compute.slow_factors.empty()) {
    const auto [least, most] = std::ranges::minmax(compute.slow_factors);
    if (least != most && method.is_asynchronous()) return std::nullopt;
    slowest = most;
  }
  const double each = slowest * compute.gradient_seconds * (1 + model.cost.optimizer_share);
  return PlannedEnd::exactly(std::ceil(gradients) * each);
}

/// The bytes that the plan expects, unless the number of messages is drawn at random.
std::optional<PlannedEnd> end_in_bytes(const PlannedRun& run, const Method& method,
                                       double gradients) {
  if (const auto rate = nominal_rate(run.settings))
    return PlannedEnd::drawn_around(run.bytes,
                                    *rate * static_cast<double>(run.budget_gradients) / 2);
  if (run.graph.schedule && run.graph.schedule->period == 0) return std::nullopt;
  if (run.agreement.exchanges_per_gradient == 1 && !method.varies() && !method.has_server())
    return PlannedEnd::exactly(run.bytes * gradients * run.workers /
                               static_cast<double>(run.budget_gradients));
  if (method.round_at) return std::nullopt;  // the number depends on which workers are slow
  const double exchanges = exchanges_in(method, gradients);
  if (exchanges == 0) return run.bytes == 0 ? std::optional(PlannedEnd{}) : std::nullopt;
  if (!method.has_server()) return PlannedEnd{run.bytes, run.bytes, exchanges};
  const double one = run.bytes / exchanges * run.workers;
  return PlannedEnd{run.bytes - one, run.bytes + one, exchanges};
}

/// Whether a limit other than gradients may end the run earlier.
bool may_end_earlier(const Budget& budget, const PlannedCourse& course) {
  const auto most = [&](PositionAxis axis) {
    const auto& end = course.ends.at(axis);
    return end ? end->most : std::numeric_limits<double>::infinity();
  };
  return budget.target ||
         (std::isfinite(budget.seconds) && most(PositionAxis::seconds) >= budget.seconds) ||
         (std::isfinite(budget.bytes) && most(PositionAxis::bytes) >= budget.bytes);
}

PlannedCourse course_of(const PlannedRun& run) {
  const RunSettings settings = settings_from(run.settings);
  const Method method = method_of(algorithm_of(settings.algorithm), settings.algorithm, nullptr);
  PlannedCourse course{.gradients = static_cast<double>(run.budget_gradients) / run.workers};
  if (!method.is_asynchronous()) course.gradients = std::ceil(course.gradients);  // whole rounds
  course.ends[PositionAxis::gradients] = PlannedEnd::exactly(course.gradients * run.workers);
  course.ends[PositionAxis::seconds] = end_in_seconds(method, settings, course.gradients);
  course.ends[PositionAxis::bytes] = end_in_bytes(run, method, course.gradients);
  if (may_end_earlier(settings.budget, course))
    for (auto& [axis, end] : course.ends) end.reset();
  if (const auto& end = course.ends[PositionAxis::seconds];
      end && std::isfinite(settings.cadence.every_seconds))
    course.every = settings.cadence.every_seconds / end->most * course.gradients;
  else if (std::isfinite(settings.cadence.evaluate_every))
    course.every = settings.cadence.evaluate_every;
  return course;
}

/// The outcomes that the run will not have.
std::set<std::string, std::less<>> lacking(const PlannedRun& run) {
  std::set<std::string, std::less<>> names;
  const auto& kept = settings_from(run.settings).record.metrics;
  for (const Metric& outcome : kOutcomes) {
    const bool has = !outcome.of_accuracy || run.has_accuracy();
    if (!has || (kept && !kept->contains(recorded_for(outcome.name)))) names.emplace(outcome.name);
  }
  return names;
}

PlannedOutcome outcome_of(const PlannedRun& run) {
  return {.group = run.group,
          .algorithm = run.algorithm,
          .label = run.label,
          .seed = run.seed,
          .settings = run.settings,
          .has_gradients = run.budget_gradients > 0,
          .always_agrees = always_agrees(run),
          .lacks = lacking(run),
          .course = run.budget_gradients > 0 ? course_of(run) : PlannedCourse{}};
}

}  // namespace

PlannedVerdict verdict_of(const Plan& plan) {
  const ComparisonPlan comparison = comparison_plan_from(plan.comparison);
  std::vector<PlannedOutcome> runs;
  if (!plan.search) {
    for (const PlannedRun& run : plan.runs) runs.push_back(outcome_of(run));
    return planned_verdict(runs, comparison);
  }
  // Each cell has one chosen value; which one does not change the number of comparisons.
  std::set<std::string> chosen;
  for (const std::vector<std::string>& cell : plan.search->cells) chosen.insert(cell.front());
  for (const PlannedRun& run : plan.search->finals)
    if (chosen.contains(run.group)) runs.push_back(outcome_of(run));
  return planned_verdict(runs, comparison);
}

}  // namespace acid
