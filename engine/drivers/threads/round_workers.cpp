#include "engine/drivers/threads/round_workers.hpp"

#include <numeric>

#include "engine/drivers/shared/rounds.hpp"
#include "engine/run/commit.hpp"

namespace acid {

RoundWorkers::RoundWorkers(const Run& run)
    : run_(run),
      peers_(run.spec, run.objective.dimension()),
      shell_(run, sequential_for(run.spec.workers)),
      timeline_(run.spec.workers),
      notes_(static_cast<std::size_t>(run.spec.workers)),
      losses_(notes_.size()),
      idle_seconds_(notes_.size()),
      norms_(notes_.size()) {
  started_seconds_ = run.clock.seconds();  // once all memory is there
}

void RoundWorkers::compute(int w) {
  Worker& worker = shell_.ensemble.worker(w);
  worker.begin_gradient(worker.last_event());
  losses_[static_cast<std::size_t>(w)] =
      run_.objective.gradient(w, w, worker.gradients(), worker.snapshot(),
                              worker.gradient_buffers(), shell_.ensemble.gradient(w));
  norms_[static_cast<std::size_t>(w)] = norm_before_hearing(run_.spec, worker);
}

bool RoundWorkers::step(int w, std::span<const float> direction) {
  Worker& worker = shell_.ensemble.worker(w);
  const Position here = position(worker.gradients() + 1);
  const Commit what{.worker = w,
                    .time = here.normalised_time,
                    .position = here,
                    .learning_rate = run_.spec.learning_rate(here),
                    .loss = losses_[static_cast<std::size_t>(w)],
                    .gradient = shell_.ensemble.gradient(w),
                    .direction = direction,
                    .is_first = notes(w).empty(),
                    .norm = norms_[static_cast<std::size_t>(w)]};
  return commit(what, worker, shell_.log, notes(w).emplace_back());
}

double RoundWorkers::end_span(int w, SpanKind kind, double since) {
  const double until = seconds();
  timeline_.add(w, kind, since, until);
  return until;
}

std::int64_t RoundWorkers::resume() {
  std::int64_t leg = 0;
  double seconds = 0;
  RoundsState kept{shell_, leg, seconds, idle_seconds_, notes_};
  if (shell_.resume(kRoundsLayout, kept)) started_seconds_ -= seconds;
  return leg;
}

void RoundWorkers::save(std::int64_t leg) {
  shell_.mark_cut(shell_.ensemble.latest_event());
  const Position here = position_of_all(leg);
  double seconds = here.seconds;
  RoundsState kept{shell_, leg, seconds, idle_seconds_, notes_};
  shell_.save(leg, here, kRoundsLayout, kept);
}

GradientRecords RoundWorkers::take_notes() {
  GradientRecords all;
  for (GradientRecords& own : notes_) {
    all.insert(all.end(), own.begin(), own.end());
    own.clear();
  }
  return all;
}

double RoundWorkers::idle_seconds() const {
  return std::accumulate(idle_seconds_.begin(), idle_seconds_.end(), 0.0);
}

void RoundWorkers::tell_times(Outcome& outcome) {
  outcome.worker_idle_seconds = idle_seconds_;
  outcome.worker_spans = timeline_.take();
}

}  // namespace acid
