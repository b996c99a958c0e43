#include "engine/run/commit.hpp"

#include "engine/worker/direction.hpp"
#include "engine/worker/host_view.hpp"

namespace acid {
namespace {

double norm_of(const Backend& backend, std::span<const float> gradient) {
  if (const auto norm = backend.kernels<float>().norm)
    return norm(gradient.data(), gradient.size());
  return euclidean_norm(HostView(backend, gradient).values());
}

}  // namespace

std::optional<double> norm_before_hearing(const RunSpec& spec, Worker& worker) {
  if (!spec.method.rules.floats->changes_gradient()) return std::nullopt;
  return norm_of(worker.backend(), worker.gradient());
}

bool commit(const Commit& what, Worker& worker, EventLog& log, GradientRecord& record) {
  record.worker = what.worker;
  record.step = worker.gradients();
  record.loss = what.loss;
  record.position = what.position;
  if (what.is_first)
    record.norm = what.norm ? *what.norm : norm_of(worker.backend(), what.gradient);
  worker.commit_gradient(what.time, what.direction, what.learning_rate, what.begins_next);
  // Where no snapshot is kept, nothing changes x while a gradient is in flight.
  record.staleness = worker.keeps_snapshots() ? worker.staleness() : 0;
  if (what.staleness) record.staleness = *what.staleness;
  log.add(what.worker, what.begins_next ? EventKind::commit_and_begin : EventKind::commit_gradient,
          what.time, worker, what.logs_staleness ? static_cast<std::uint64_t>(*what.staleness) : 0);
  return can_be_loss(what.loss);
}

}  // namespace acid
