#include "engine/drivers/threads/locked_workers.hpp"

namespace acid {

LockedWorkers::LockedWorkers(const Run& run)
    : run_(run),
      spec_(run.spec),
      shell_(run, sequential_for(run.spec.workers)),
      timeline_(run.spec.workers),
      own_(std::make_unique<Own[]>(static_cast<std::size_t>(run.spec.workers))) {
  started_seconds_ = run.clock.seconds();  // once all memory is there
}

double LockedWorkers::compute(int w) {
  Worker& worker = shell_.ensemble.worker(w);
  return run_.objective.gradient(w, w, worker.gradients(), worker.snapshot(),
                                 worker.gradient_buffers(), shell_.ensemble.gradient(w));
}

void LockedWorkers::begin(int w, double t) {
  shell_.ensemble.worker(w).begin_gradient(t);
  own(w).computing = true;
  shell_.log.add(w, EventKind::begin_gradient, t, shell_.ensemble.worker(w));
}

std::optional<Position> LockedWorkers::count_commit() {
  std::int64_t before = commits_.load();
  do {
    if (before >= spec_.budget.gradients) return std::nullopt;
  } while (!commits_.compare_exchange_weak(before, before + 1));
  const Position here = position(before + 1);
  double last = trained_seconds_.load();
  while (last < here.seconds && !trained_seconds_.compare_exchange_weak(last, here.seconds)) {
  }
  return here;
}

bool LockedWorkers::commit(int w, const Position& here, double loss, double started,
                           const Commit& more) {
  Own& o = own(w);
  Commit what = more;
  what.worker = w;
  what.time = here.normalised_time;
  what.position = here;
  what.position.bytes = 0;  // the order of commits and concurrent exchanges is not defined
  what.learning_rate = spec_.learning_rate(here);
  what.loss = loss;
  what.gradient = what.direction = shell_.ensemble.gradient(w);
  what.is_first = o.notes.empty();
  const bool finite =
      acid::commit(what, shell_.ensemble.worker(w), shell_.log, o.notes.emplace_back());
  o.computing = what.begins_next;
  timeline_.add(w, SpanKind::compute, started, here.seconds);
  run_.recorder.progress(here);
  return finite;
}

void LockedWorkers::exchange(const DueEdge& edge) {
  MutexLock lock_i(own(edge.i).mutex);
  MutexLock lock_j(own(edge.j).mutex);
  const double t = now(), since = seconds();
  Worker::exchange(shell_.ensemble.worker(edge.i), shell_.ensemble.worker(edge.j), t);
  exchanges_.fetch_add(1);
  shell_.log.add(edge.i, EventKind::exchange, t, shell_.ensemble.worker(edge.i), edge.number);
  shell_.log.add(edge.j, EventKind::exchange, t, shell_.ensemble.worker(edge.j), edge.number);
  const double until = seconds();
  timeline_.add(edge.i, SpanKind::exchange, since, until);
  timeline_.add(edge.j, SpanKind::exchange, since, until);
}

void LockedWorkers::waited(int w, double since) {
  MutexLock lock(own(w).mutex);
  add_wait(w, since);
}

double LockedWorkers::add_wait(int w, double since) {
  const double until = seconds();
  own(w).idle_seconds += until - since;
  timeline_.add(w, SpanKind::wait, since, until);
  return until;
}

double LockedWorkers::add_visit(int w, double since) {
  const double until = seconds();
  timeline_.add(w, SpanKind::exchange, since, until);
  return until;
}

GradientRecords LockedWorkers::collect_notes() {
  GradientRecords notes;
  for (int w = 0; w < spec_.workers; ++w) {
    notes.insert(notes.end(), own(w).notes.begin(), own(w).notes.end());
    own(w).notes.clear();
  }
  sort_by_commit(notes);
  return notes;
}

Totals LockedWorkers::totals(const Position& here) {
  double idle_seconds = 0;
  for (int w = 0; w < spec_.workers; ++w) idle_seconds += own(w).idle_seconds;
  return shell_.totals(here, exchanges_.load(), idle_seconds);
}

void LockedWorkers::tell_times(double until, Outcome& outcome) {
  for (int w = 0; w < spec_.workers; ++w)
    outcome.worker_idle_seconds.push_back(own(w).idle_seconds);
  outcome.worker_spans = timeline_.take(until);
}

AllWorkersLocked::AllWorkersLocked(LockedWorkers& workers) : workers_(workers) {
  for (int w = 0; w < workers_.ensemble().size(); ++w) workers_.own(w).mutex.lock();
}

AllWorkersLocked::~AllWorkersLocked() {
  for (int w = workers_.ensemble().size() - 1; w >= 0; --w) workers_.own(w).mutex.unlock();
}

}  // namespace acid
