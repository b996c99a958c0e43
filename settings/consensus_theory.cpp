#include "settings/consensus_theory.hpp"

#include "engine/base/fields.hpp"
#include "engine/data/analytic.hpp"
#include "engine/methods/listed.hpp"

namespace acid {
namespace {

// The assumptions of the proof. Each is true only for values that are known to fulfil it.

bool exchanges_happen_at_once(const ExecutionSettings& execution) {
  return execution.entry().simulates && execution.simulation.has_instant_exchanges();
}

bool workers_are_alike(const ComputeModel& compute) {
  return compute.slow_factors.empty() && compute.slowdown_probability == 0 &&
         compute.pauses.empty();
}

// With one draw for all seeds, their mean does not estimate the expectation.
bool every_seed_draws(const StreamSettings& streams) {
  return !streams.gossip && !streams.data && !streams.compute;
}

// With such limits, the runs that go on are those that exchanged less or are far from a target.
bool ends_whatever_happened(const Budget& budget) {
  return budget.bytes == kNever && !budget.target;
}

bool steps_are_sgd(const OptimizerSettings& optimizer) {
  return optimizer.kind == OptimizerKind::sgd && optimizer.weight_decay == 0;
}

bool steps_have_one_size(const RunSettings& settings) {
  const Schedule& schedule = settings.schedule;
  return settings.optimizer.momentum == 0 && !settings.optimizer.clip_norm &&
         schedule.kind == ScheduleKind::constant && schedule.warmup == 0 && schedule.scale == 1;
}

// The growth of C by gradient noise per unit of time, (1 − 1/n) γ²σ²d; nothing if gradients have
// another effect on C, or an unknown one.
std::optional<double> noise_power(const RunSettings& settings) {
  const GradientClock clock = settings.execution.simulation.gradient_clock;
  const AnalyticEntry* const task = find_analytic(text(settings.task.dataset, "kind"));
  if (task == nullptr || task->noise_alone == nullptr || !steps_are_sgd(settings.optimizer))
    return std::nullopt;
  const std::optional<double> deviation = task->noise_alone(settings.task.dataset);
  if (!deviation) return std::nullopt;
  if (*deviation == 0 || clock == GradientClock::none) return 0;
  if (clock != GradientClock::poisson || !steps_have_one_size(settings)) return std::nullopt;
  const double step = settings.schedule.learning_rate * *deviation;
  return (1 - 1.0 / settings.workers) * step * step *
         static_cast<double>(task->inspect(settings.task.dataset).dimension);
}

}  // namespace

std::optional<ConsensusTheory> consensus_theory(const RunSettings& settings, double chi1,
                                                double chi2) {
  const Method method = method_of(algorithm_of(settings.algorithm), settings.algorithm, nullptr);
  const std::optional<Decay> decay = consensus_decay(method, chi1, chi2);
  if (!decay) return std::nullopt;
  ConsensusTheory theory{*decay, std::nullopt};
  const ExecutionSettings& execution = settings.execution;
  if (!exchanges_happen_at_once(execution) || !workers_are_alike(execution.simulation.compute) ||
      !every_seed_draws(settings.streams) || !ends_whatever_happened(settings.budget))
    return theory;
  if (const std::optional<double> power = noise_power(settings))
    theory.level = decay->factor * *power / decay->rate;
  return theory;
}

}  // namespace acid
