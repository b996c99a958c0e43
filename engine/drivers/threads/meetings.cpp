#include "engine/drivers/threads/meetings.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/run/commit.hpp"

namespace acid {

ThreadsAsync::ThreadsAsync(const Run& run, const ThreadsOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(options),
      pace_(options),
      start_line_(run.spec.workers),
      ensemble_(run.spec, run.objective),
      log_(run.spec.workers, run.spec.keep_events, run.recorder),
      timeline_(run.spec.workers),
      slots_(std::make_unique<Slot[]>(static_cast<std::size_t>(run.spec.workers))),
      schedule_(*run.spec.topology, run.spec.method.rate, run.spec.seeds),
      matchmaker_(run.spec.workers),
      sampler_(run.spec, run.objective, run.recorder, sequential_for(run.spec.workers)) {
  for (int w = 0; w < run.spec.workers; ++w) slot(w).backlog_limit = run.spec.backlog_limit(w);
  started_seconds_ = run.clock.seconds();
  if (run.checkpointing.resume != nullptr) resume(*run.checkpointing.resume);
}

Position ThreadsAsync::position(std::int64_t gradients) const {
  return spec_.after_exchanges(gradients, seconds(), exchanges_.load(), ensemble_.dimension());
}

void ThreadsAsync::close() {
  closing_.set();
  MutexLock lock(matching_);
  caught_up_.notify_all();
  watch_due_.notify_all();
}

void ThreadsAsync::fail() {
  start_line_.abort();
  release_exchangers();
  close();
}

Outcome ThreadsAsync::execute() {
  trained_seconds_.store(seconds());
  if (run_.checkpointing.resume == nullptr) take_sample();
  ThreadGroup exchangers([this] { fail(); });
  for (int e = 0; e < options_.exchange_threads; ++e)
    exchangers.start([this] { exchange_until_over(); });
  std::int64_t waiting = 0;
  bool stopped = false;
  try {
    train();
    stopped = run_.stop.stop_requested() && commits_.load() < spec_.budget.gradients &&
              !sampler_.target_reached() && !sampler_.diverged() && !diverged_.load();
    if (!stopped) waiting = drain();
    release_exchangers();
  } catch (...) {
    fail();  // wakes the threads that sleep, so that they can be joined
    throw;
  }
  exchangers.join();

  Position end = position(commits_.load());
  // Neither the drain nor an evaluation that goes on when the last gradient has committed is
  // charged to the run.
  end.seconds = std::max(trained_seconds_.load(), sampled_seconds_);
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  if (stopped && checkpoints != nullptr && !checkpoints->has(end.gradients)) save_cut();
  log_.flush();
  if (stopped) return ended_early(Ending::stopped, "", end);
  if (sampler_.diverged() || diverged_.load()) return diverged(sampler_, collect_notes(), end);
  return finish(end, waiting);
}

void ThreadsAsync::train() {
  ThreadGroup workers([this] { fail(); });
  for (int w = 0; w < spec_.workers; ++w) workers.start([this, w] { work(w); });
  try {
    watch();
  } catch (...) {
    fail();
    throw;
  }
  workers.join();
}

// After the last gradient every edge that is due is executed. Returns how many were waiting.
std::int64_t ThreadsAsync::drain() {
  MutexLock lock(matching_);
  make_due();
  const std::int64_t waiting = matchmaker_.waiting();
  execute_ready();
  while (!matchmaker_.idle() && !exchanging_over_) caught_up_.wait(matching_);
  return waiting;
}

void ThreadsAsync::release_exchangers() {
  MutexLock lock(matching_);
  exchanging_over_ = true;
  exchange_ready_.notify_all();
  paused_.notify_all();
}

Outcome ThreadsAsync::finish(const Position& end, std::int64_t waiting) {
  Totals totals;
  totals.position = end;
  totals.exchanges = exchanges_.load();
  totals.learning_rate = spec_.learning_rate(end);
  for (int w = 0; w < spec_.workers; ++w) totals.idle_seconds += slot(w).idle_seconds;
  Outcome outcome = conclude(ensemble_, sampler_, now(), totals, collect_notes());
  MutexLock lock(matching_);
  outcome.edges = edges_.list();
  outcome.exchanges_drawn = matchmaker_.due();
  outcome.exchanges_waiting = waiting;
  outcome.holds = holds_;
  outcome.skipped = sampler_.skipped();
  for (int w = 0; w < spec_.workers; ++w)
    outcome.worker_idle_seconds.push_back(slot(w).idle_seconds);
  outcome.worker_spans = timeline_.take(end.seconds);  // an exchange may go on, or be drained
  return outcome;
}

void ThreadsAsync::work(int w) {
  if (!start_line_.wait()) return;  // nobody gets ahead while the others' threads are being made
  while (true) {
    // In hand already: it began with the commit before, or it had when the checkpoint was taken.
    if (!slot(w).computing && !begin_once_caught_up(w)) return;
    const double started = seconds();
    Worker& worker = ensemble_.worker(w);
    // The snapshot, its buffers and the count of gradients change only in this thread's own events.
    const double loss = run_.objective.gradient(w, w, worker.gradients(), worker.snapshot(),
                                                worker.gradient_buffers(), ensemble_.gradient(w));
    pace_.keep(w, seconds() - started, closing_);
    if (!commit(w, loss, started)) return;
    MutexLock lock(matching_);
    while (pausing_ && !exchanging_over_) paused_.wait(matching_);  // a cut comes soon or never
    if (options_.exchange_threads == 0) {
      execute_ready();
    } else {
      make_due();
      exchange_ready_.notify_all();
    }
  }
}

bool ThreadsAsync::begin_once_caught_up(int w) {
  bool held = false;
  while (!begin(w)) {
    if (closing_.is_set()) return false;
    if (!held) {
      MutexLock lock(matching_);
      ++holds_;
    }
    held = true;
    catch_up(w);
  }
  return true;
}

bool ThreadsAsync::begin(int w) {
  MutexLock lock(slot(w).mutex);
  const double t = now();
  if (behind(w)) return false;
  ensemble_.worker(w).begin_gradient(t);
  slot(w).computing = true;
  log_.add(w, EventKind::begin_gradient, t, ensemble_.worker(w));
  return true;
}

bool ThreadsAsync::commit(int w, double loss, double started) {
  Slot& s = slot(w);
  Worker& worker = ensemble_.worker(w);
  if (closing_.is_set()) return false;
  MutexLock lock(s.mutex);
  if (spec_.budget.spent(position(0))) {  // asked here too: the calling thread may be evaluating
    close();
    return false;
  }
  std::int64_t before = commits_.load();
  do {
    if (before >= spec_.budget.gradients) return false;
  } while (!commits_.compare_exchange_weak(before, before + 1));
  const std::int64_t number = before + 1;
  const double t = static_cast<double>(number) / spec_.workers;
  const Position here = position(number);
  const double rate = spec_.learning_rate(here), seconds = here.seconds;
  double last = trained_seconds_.load();
  while (last < seconds && !trained_seconds_.compare_exchange_weak(last, seconds)) {
  }
  Position noted = here;
  noted.bytes = 0;  // which exchanges came before is no fact while others are under way
  const bool begin_next = !behind(w);
  const Commit what{.worker = w,
                    .time = t,
                    .position = noted,
                    .learning_rate = rate,
                    .loss = loss,
                    .gradient = ensemble_.gradient(w),
                    .direction = ensemble_.gradient(w),
                    .begins_next = begin_next,
                    .is_first = s.notes.empty()};
  const bool finite = acid::commit(what, worker, log_, s.notes.emplace_back());
  s.computing = begin_next;
  timeline_.add(w, SpanKind::compute, started, seconds);
  run_.recorder.progress(here);
  if (!finite) {
    diverged_.store(true);
    closing_.set();
  }
  return true;
}

bool ThreadsAsync::behind(int w) {
  MutexLock lock(matching_);
  make_due();
  return matchmaker_.backlog(w) > slot(w).backlog_limit;
}

// The throttle. A held thread executes what it can itself; it sleeps only while others have the
// exchanges that it waits for under way.
void ThreadsAsync::catch_up(int w) {
  const double since = seconds();
  {
    MutexLock lock(matching_);
    execute_ready();
    while (matchmaker_.backlog(w) > slot(w).backlog_limit && !closing_.is_set())
      caught_up_.wait(matching_);
  }
  MutexLock lock(slot(w).mutex);
  const double until = seconds();
  slot(w).idle_seconds += until - since;
  timeline_.add(w, SpanKind::wait, since, until);
}

void ThreadsAsync::make_due() {
  while (schedule_.peek().due <= now()) matchmaker_.add(schedule_.pop());
  if (commits_.load() >= next_watch_) watch_due_.notify_one();
}

void ThreadsAsync::done(const DueEdge& edge) {
  matchmaker_.finish(edge);
  edges_.add(edge.i, edge.j);
  caught_up_.notify_all();
}

void ThreadsAsync::execute_ready() {
  make_due();
  while (!pausing_ && !exchanging_over_) {
    const auto edge = matchmaker_.take();
    if (!edge) return;
    ++in_flight_;
    matching_.unlock();
    try {
      perform(*edge);
    } catch (...) {
      matching_.lock();
      --in_flight_;
      paused_.notify_all();
      throw;
    }
    matching_.lock();
    --in_flight_;
    done(*edge);
    make_due();
  }
  if (in_flight_ == 0) paused_.notify_all();
}

void ThreadsAsync::exchange_until_over() {
  MutexLock lock(matching_);
  while (!exchanging_over_) {
    execute_ready();
    if (!exchanging_over_) exchange_ready_.wait(matching_);
  }
}

void ThreadsAsync::perform(const DueEdge& edge) {
  Slot& i = slot(edge.i);
  Slot& j = slot(edge.j);
  MutexLock lock_i(i.mutex);
  MutexLock lock_j(j.mutex);
  const double t = now(), since = seconds();
  Worker::exchange(ensemble_.worker(edge.i), ensemble_.worker(edge.j), t);
  exchanges_.fetch_add(1);
  log_.add(edge.i, EventKind::exchange, t, ensemble_.worker(edge.i), edge.number);
  log_.add(edge.j, EventKind::exchange, t, ensemble_.worker(edge.j), edge.number);
  const double until = seconds();
  timeline_.add(edge.i, SpanKind::exchange, since, until);
  timeline_.add(edge.j, SpanKind::exchange, since, until);
}

// The calling thread's part: samples and cuts when they are due, and the ends that no worker sees
// coming.
void ThreadsAsync::watch() {
  const Budget& budget = spec_.budget;
  while (!closing_.is_set()) {
    const Position here = position(commits_.load());
    if (here.gradients >= budget.gradients) return;
    if (run_.stop.stop_requested() || budget.spent(here)) return close();
    Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
    if (checkpoints != nullptr && checkpoints->due(here.gradients, here)) save_cut();
    const double cut = checkpoints == nullptr ? kNever : checkpoints->next_time();
    const SampleTimes& sample_times = sampler_.sample_times();
    sleep_until(std::min(sample_times.next(), cut), sample_times.next_seconds());
    if (!sample_times.due(position(commits_.load()))) continue;
    take_sample();
    if (sampler_.diverged() || sampler_.target_reached()) close();
  }
}

// Wakes for the end of the budget too, and now and then to look at what no commit tells.
void ThreadsAsync::sleep_until(double time, double until_seconds) {
  constexpr double kWatchSeconds = 0.2;
  const double gradients = std::ceil(time * spec_.workers - 1e-9);
  MutexLock lock(matching_);
  next_watch_ =
      static_cast<std::int64_t>(std::min(gradients, static_cast<double>(spec_.budget.gradients)));
  const double most = std::min(kWatchSeconds, until_seconds - seconds());
  if (commits_.load() < next_watch_ && most > 0) watch_due_.wait_for(matching_, most);
}

GradientRecords ThreadsAsync::collect_notes() {
  GradientRecords notes;
  for (int w = 0; w < spec_.workers; ++w) {
    notes.insert(notes.end(), slot(w).notes.begin(), slot(w).notes.end());
    slot(w).notes.clear();
  }
  sort_by_commit(notes);
  return notes;
}

// With every mutex held no event is half done, so the copies are one consistent cut. After the last
// commit it is too late: the sample there is the final one, after the exchanges that are still due.
void ThreadsAsync::take_sample() {
  lock_workers();
  Totals totals;
  totals.position = position(commits_.load());
  if (totals.position.gradients >= spec_.budget.gradients) return unlock_workers();
  totals.exchanges = exchanges_.load();
  totals.learning_rate = spec_.learning_rate(totals.position);
  for (int w = 0; w < spec_.workers; ++w) totals.idle_seconds += slot(w).idle_seconds;
  sampled_seconds_ = totals.position.seconds;
  const MeanModel mean =
      log_.measure(now(), ensemble_, sampler_.sample_times().evaluates_workers());
  const GradientRecords notes = collect_notes();
  unlock_workers();
  sampler_.take(mean, totals, notes);
}

}  // namespace acid
