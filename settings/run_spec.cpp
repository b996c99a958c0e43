#include "settings/run_spec.hpp"

#include "engine/methods/listed.hpp"

namespace acid {

Topology topology_of(const RunSettings& settings) {
  return settings.topology.is_null() ? Topology::complete(settings.workers)
                                     : make_topology(settings.workers, settings.topology);
}

RunSpec spec_from(const RunSettings& settings, const Topology& topology) {
  const ExecutionSettings& execution = settings.execution;
  RunSpec spec;
  spec.workers = settings.workers;
  spec.reads_graph = !settings.topology.is_null();
  spec.topology = &topology;
  spec.method = method_of(algorithm_of(settings.algorithm), settings.algorithm, nullptr);
  spec.method.set_pace(execution.slow_factors);
  spec.optimizer = settings.optimizer;
  spec.schedule = settings.schedule;
  spec.budget = settings.budget;
  spec.cadence = settings.cadence;
  spec.cadence.end = spec.budget.normalised_time < kNever
                         ? spec.budget.normalised_time
                         : static_cast<double>(spec.budget.gradients) / spec.workers;
  spec.seeds = settings.seeds();
  spec.max_backlog = execution.max_backlog;
  spec.threads_per_worker = execution.threads_per_worker;
  spec.keep_events = settings.record.events;
  spec.average_buffers = settings.task.average_buffers;
  if (execution.entry().simulates) spec.stands_for = execution.simulation.network.stands_for();
  return spec;
}

}  // namespace acid
