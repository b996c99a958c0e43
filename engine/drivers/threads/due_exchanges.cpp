#include "engine/drivers/threads/due_exchanges.hpp"

namespace acid {

DueExchanges::DueExchanges(const RunSpec& spec, LockedWorkers& workers, const StopLatch& closing,
                           bool own_threads)
    : workers_(workers),
      closing_(closing),
      own_threads_(own_threads),
      schedule_(*spec.topology, spec.method.rate, spec.seeds),
      matchmaker_(spec.workers) {
  for (int w = 0; w < spec.workers; ++w) backlog_limits_.push_back(spec.backlog_limit(w));
}

bool DueExchanges::holds(int w) const {
  return matchmaker_.backlog(w) > backlog_limits_[static_cast<std::size_t>(w)];
}

bool DueExchanges::behind(int w) {
  MutexLock lock(mutex_);
  make_due();
  return holds(w);
}

void DueExchanges::count_hold() {
  MutexLock lock(mutex_);
  ++holds_;
}

void DueExchanges::catch_up(int w) {
  MutexLock lock(mutex_);
  execute_ready();
  while (holds(w) && !closing_.is_set()) caught_up_.wait(mutex_);
}

void DueExchanges::after_commit() {
  MutexLock lock(mutex_);
  while (pausing_ && !over_) paused_.wait(mutex_);  // a cut comes soon or never
  if (!own_threads_) return execute_ready();
  make_due();
  startable_.notify_all();
}

void DueExchanges::execute() {
  MutexLock lock(mutex_);
  execute_ready();
}

void DueExchanges::execute_until_over() {
  MutexLock lock(mutex_);
  while (!over_) {
    execute_ready();
    if (!over_) startable_.wait(mutex_);
  }
}

std::int64_t DueExchanges::drain() {
  MutexLock lock(mutex_);
  make_due();
  const std::int64_t waiting = matchmaker_.waiting();
  execute_ready();
  while (!matchmaker_.idle() && !over_) caught_up_.wait(mutex_);
  return waiting;
}

void DueExchanges::end() {
  MutexLock lock(mutex_);
  over_ = true;
  startable_.notify_all();
  paused_.notify_all();
}

bool DueExchanges::pause() {
  MutexLock lock(mutex_);
  pausing_ = true;
  while (in_flight_ > 0 && !over_) paused_.wait(mutex_);
  pausing_ = in_flight_ == 0;
  if (!pausing_) paused_.notify_all();
  return pausing_;
}

void DueExchanges::go_on() {
  MutexLock lock(mutex_);
  pausing_ = false;
  paused_.notify_all();
}

void DueExchanges::sleep_until(std::int64_t gradients, double seconds) {
  MutexLock lock(mutex_);
  next_watch_ = gradients;
  if (workers_.commits() < next_watch_ && seconds > 0) watch_due_.wait_for(mutex_, seconds);
}

void DueExchanges::wake() {
  MutexLock lock(mutex_);
  caught_up_.notify_all();
  watch_due_.notify_all();
}

void DueExchanges::tell(Outcome& outcome) {
  MutexLock lock(mutex_);
  outcome.edges = edges_.list();
  outcome.exchanges_drawn = matchmaker_.due();
  outcome.holds = holds_;
}

void DueExchanges::make_due() {
  while (schedule_.peek().due <= workers_.now()) matchmaker_.add(schedule_.pop());
  if (workers_.commits() >= next_watch_) watch_due_.notify_one();
}

void DueExchanges::execute_ready() {
  make_due();
  while (!pausing_ && !over_) {
    const auto edge = matchmaker_.take();
    if (!edge) return;
    ++in_flight_;
    mutex_.unlock();
    try {
      workers_.exchange(*edge);
    } catch (...) {
      mutex_.lock();
      --in_flight_;
      paused_.notify_all();
      throw;
    }
    mutex_.lock();
    --in_flight_;
    done(*edge);
    make_due();
  }
  if (in_flight_ == 0) paused_.notify_all();
}

void DueExchanges::done(const DueEdge& edge) {
  matchmaker_.finish(edge);
  edges_.add(edge.i, edge.j);
  caught_up_.notify_all();
}

}  // namespace acid
