// The gradient thread of an asynchronous run under the mpi driver.
#include <cmath>
#include <optional>

#include "engine/drivers/mpi/gradient_pace.hpp"
#include "engine/drivers/mpi/meetings.hpp"
#include "engine/run/commit.hpp"

namespace acid {

void MpiAsync::train() {
  wait_for_start();
  GradientPace pace(options_.slow_factor, run_.clock);
  while (has_gradient()) {
    const double began = run_.clock.seconds();
    pace.begin();
    const double loss = run_.objective.gradient(0, rank_, worker_.gradients(), worker_.snapshot(),
                                                worker_.gradient_buffers(), worker_.gradient());
    hold_until(pace.end());
    if (!commit(loss, began)) break;
    post_.wake();
  }
  stop_training();
}

void MpiAsync::wait_for_start() {
  MutexLock lock(mutex_);
  while (!begun_ && !closing_) changed_.wait(mutex_);
}

// One that began with the commit before is in flight already, and one that was at a checkpoint is
// computed anew from its snapshot.
bool MpiAsync::has_gradient() {
  MutexLock lock(mutex_);
  if (!begun_) return false;
  if (report_.computing) return true;
  std::optional<double> held_since;
  while (!closing_ && (behind() || lent_)) {
    if (!held_since && behind()) {
      held_since = run_.clock.seconds();
      ++report_.holds;
    }
    changed_.wait(mutex_);
  }
  if (held_since) report_.idle_seconds += end_span(SpanKind::wait, *held_since);
  if (closing_) return false;
  worker_.begin_gradient(time_.time());
  report_.computing = true;
  log(EventKind::begin_gradient);
  return true;
}

void MpiAsync::stop_training() {
  {
    MutexLock lock(mutex_);
    training_over_ = true;
  }
  post_.wake();
}

void MpiAsync::log(EventKind kind, std::uint64_t exchange) {
  reporter_.log().add(rank_, kind, time_.time(), worker_, exchange);
}

// Waits where the run's other gradients are given to others, or are not known to be left, and while
// the partner of an exchange has the worker's vectors.
bool MpiAsync::commit(double loss, double began) {
  MutexLock lock(mutex_);
  end_span(SpanKind::compute, began);
  if (committed_ >= allowed_ || lent_) {
    const double since = run_.clock.seconds();
    while ((committed_ >= allowed_ || lent_) && !closing_) changed_.wait(mutex_);
    report_.idle_seconds += end_span(SpanKind::wait, since);
  }
  if (closing_) return false;
  ++committed_;
  time_.commit();
  const std::int64_t count = time_.count();
  const Position here{
      .gradients = count, .normalised_time = time_.time(), .seconds = 0, .bytes = 0};
  const bool begin_next = !behind();
  const Commit what{.worker = rank_,
                    .time = time_.time(),
                    .position = here,
                    .learning_rate = spec_.learning_rate(here),
                    .loss = loss,
                    .gradient = worker_.gradient(),
                    .direction = worker_.gradient(),
                    .begins_next = begin_next,
                    .is_first = report_.notes.empty()};
  report_.computing = begin_next;
  if (!acid::commit(what, worker_, reporter_.log(), report_.notes.emplace_back()))
    diverged_ = closing_ = true;
  return !closing_;
}

// The throttle, of a gradient that would begin now.
bool MpiAsync::behind() {
  make_due();
  return static_cast<double>(edges_.size()) - (in_flight_ ? 1 : 0) > backlog_limit_;
}

double MpiAsync::end_span(SpanKind kind, double since) {
  const double until = run_.clock.seconds();
  timeline_.add(0, kind, since - started_seconds_, until - started_seconds_);
  return until - since;
}

void MpiAsync::abandon() {
  abandoned_.store(true);
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  post_.wake();
}

void MpiAsync::hold_until(double until) {
  if (options_.slow_factor <= 1) return;
  MutexLock lock(mutex_);
  while (!closing_ && run_.clock.seconds() < until)
    changed_.wait_for(mutex_, until - run_.clock.seconds());
}

}  // namespace acid
