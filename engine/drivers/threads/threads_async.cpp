#include "engine/drivers/threads/threads_async.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace acid {

ThreadsAsync::ThreadsAsync(const Run& run, const ThreadsOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(options),
      slow_workers_(options, run.stop),
      start_line_(run.spec.workers),
      workers_(run),
      shell_(workers_.shell()),
      exchanges_(run.spec, workers_, closing_, options.exchange_threads > 0),
      sample_times_(spec_.cadence) {
  if (spec_.method.has_server()) server_.emplace(spec_, workers_);
  shell_.resume(threads_state_layout(spec_), *this);
  sample_times_ = shell_.sampler.sample_times();
}

void ThreadsAsync::close() {
  closing_.set();
  slow_workers_.wake();
  exchanges_.wake();
}

void ThreadsAsync::fail() {
  start_line_.abort();
  exchanges_.end();
  measured_.abandon();
  close();
}

Outcome ThreadsAsync::execute() {
  ThreadGroup recorder([this] { fail(); });
  recorder.start([this] { record(); });
  ThreadGroup exchangers([this] { fail(); });
  for (int e = 0; e < options_.exchange_threads; ++e)
    exchangers.start([this] { exchanges_.execute_until_over(); });
  std::int64_t waiting = 0;
  bool stopped = false;
  exchangers.join_after([&] {
    if (run_.checkpointing.resume == nullptr) take_sample();
    train();
    measured_.close();
    recorder.join();
    stopped = run_.stop.stop_requested() && workers_.commits() < spec_.budget.gradients &&
              !shell_.enough() && !diverged_.load();
    if (!stopped) waiting = exchanges_.drain();
    exchanges_.end();
  });

  Position end = workers_.position(workers_.commits());
  // The run's seconds include neither the drain nor an evaluation that is still running when the
  // last gradient commits.
  end.seconds = std::max(workers_.trained_seconds(), sampled_seconds_);
  if (stopped) {
    if (shell_.last_cut_is_due(end.gradients)) save_cut();
    return shell_.stopped(end);
  }
  return shell_.end(
      workers_.now(), workers_.totals(end), workers_.collect_notes(), [&](Outcome& outcome) {
        exchanges_.tell(outcome);
        if (server_) outcome.exchanges_drawn = outcome.exchanges_done;
        outcome.exchanges_waiting = waiting;
        outcome.skipped = shell_.sampler.skipped();
        workers_.tell_times(end.seconds, outcome);  // an exchange may go on, or be drained
      });
}

void ThreadsAsync::train() {
  ThreadGroup workers([this] { fail(); });
  for (int w = 0; w < spec_.workers; ++w) workers.start([this, w] { work(w); });
  workers.join_after([this] { watch(); });
}

void ThreadsAsync::work(int w) {
  if (!start_line_.wait()) return;  // no worker gets ahead while other threads are being made
  while (true) {
    // A gradient that began with the last commit, or before the checkpoint, is already in flight.
    if (!workers_.own(w).computing && !begin_once_caught_up(w)) return;
    const double started = workers_.seconds();
    const double loss = workers_.compute(w);
    slow_workers_.keep(w, workers_.seconds() - started);
    if (!commit(w, loss, started)) return;
    exchanges_.after_commit();
  }
}

void ThreadsAsync::record() {
  while (const std::optional<Measured> sample = measured_.next()) {
    if (!shell_.sampler.diverged())
      shell_.sampler.take(sample->mean, sample->totals, sample->notes);
    measured_.recorded();
    if (shell_.enough()) close();
  }
}

bool ThreadsAsync::begin_once_caught_up(int w) {
  for (bool held = false; !begin(w); held = true) {
    if (closing_.is_set() || server_) return false;
    if (!held) exchanges_.count_hold();
    const double since = workers_.seconds();
    exchanges_.catch_up(w);
    workers_.waited(w, since);
  }
  return true;
}

bool ThreadsAsync::begin(int w) {
  MutexLock lock(workers_.own(w).mutex);
  if (server_) return !closing_.is_set() && server_->begin(w);
  const double t = workers_.now();
  if (exchanges_.behind(w)) return false;
  workers_.begin(w, t);
  return true;
}

bool ThreadsAsync::commit(int w, double loss, double started) {
  if (closing_.is_set()) return false;
  MutexLock lock(workers_.own(w).mutex);
  // Checked here too, because the calling thread may be evaluating.
  if (spec_.budget.spent(workers_.position(0))) {
    close();
    return false;
  }
  const std::optional<Position> here = workers_.count_commit();
  if (!here) return false;
  const bool finite =
      server_ ? server_->go_on(w, {*here, loss, started})
              : workers_.commit(w, *here, loss, started, {.begins_next = !exchanges_.behind(w)});
  if (!finite) {
    diverged_.store(true);
    close();
  }
  return true;
}

void ThreadsAsync::watch() {
  const Budget& budget = spec_.budget;
  while (!closing_.is_set()) {
    const Position here = workers_.position(workers_.commits());
    if (here.gradients >= budget.gradients) return slow_workers_.wake();
    if (run_.stop.stop_requested() || budget.spent(here)) return close();
    if (shell_.cut_is_due(here.gradients, here) && measured_.wait_until_recorded() &&
        !closing_.is_set())
      save_cut();
    sleep_until(std::min(sample_times_.next(), shell_.next_cut()), sample_times_.next_seconds());
    if (sample_times_.due(workers_.position(workers_.commits()))) take_sample();
  }
}

// Wakes at the end of the budget too, and from time to time for what no commit reports.
void ThreadsAsync::sleep_until(double time, double until_seconds) {
  constexpr double kWatchSeconds = 0.2;
  const double gradients = std::ceil(time * spec_.workers - 1e-9);
  exchanges_.sleep_until(
      static_cast<std::int64_t>(std::min(gradients, static_cast<double>(spec_.budget.gradients))),
      std::min(kWatchSeconds, until_seconds - workers_.seconds()));
}

// With every mutex held no event is half done, so the copies are one consistent cut. After the last
// commit it is too late: that sample is the final one, after the exchanges that are still due.
void ThreadsAsync::take_sample() {
  Measured sample;
  Look look;
  {
    const AllWorkersLocked locked(workers_);
    const Position here = workers_.position(workers_.commits());
    if (here.gradients >= spec_.budget.gradients) return;
    sample.totals = workers_.totals(here);
    sampled_seconds_ = here.seconds;
    look = RunShell::look(sample_times_, here.normalised_time);
    sample.mean = shell_.log.measure(workers_.now(), shell_.ensemble, look);
    sample.notes = workers_.collect_notes();
  }
  sample_times_.pass(sample.totals.position, spec_.workers);
  measured_.add(std::move(sample), look.mean);
}

// No exchange starts meanwhile, and those in flight end first. A worker that commits a gradient
// waits until the cut is over, so that all of them are soon locked.
void ThreadsAsync::save_cut() {
  if (!exchanges_.pause()) return;  // a thread failed, and the run ends with its error
  try {
    save_paused();
  } catch (...) {
    exchanges_.go_on();
    throw;
  }
  exchanges_.go_on();
  exchanges_.execute();  // a thread that wanted to start one meanwhile may be asleep
}

void ThreadsAsync::save_paused() {
  const AllWorkersLocked locked(workers_);
  const Position here = workers_.position(workers_.commits());
  shell_.mark_cut(here.normalised_time);
  shell_.save(here.gradients, here, threads_state_layout(spec_), *this);
}

}  // namespace acid
