#include "engine/drivers/mpi/gradient_thread.hpp"

#include <algorithm>
#include <optional>

#include "engine/drivers/mpi/gradient_pace.hpp"

namespace acid {

void GradientThread::train() {
  wait_for_start();
  GradientPace pace(slow_factor_, run_.clock, run_.objective);
  while (has_gradient()) {
    const double began = run_.clock.seconds();
    pace.begin();
    const double loss = worker_.compute();
    hold_until(pace.end());
    if (!commit(loss, began)) break;
    post_.wake();
  }
  {
    MutexLock lock(worker_.mutex);
    over_ = true;
  }
  post_.wake();
}

void GradientThread::wait_for_start() {
  MutexLock lock(worker_.mutex);
  while (!begun_ && !closing_) worker_.changed.wait(worker_.mutex);
}

// A gradient that began with the last commit is already in flight; one that was in flight at a
// checkpoint is computed anew from its snapshot.
bool GradientThread::has_gradient() {
  MutexLock lock(worker_.mutex);
  if (!begun_) return false;
  if (worker_.report().computing) return true;
  if (visits_ != nullptr) return visit_until_gradient();
  std::optional<double> held_since;
  const std::int64_t returned = returned_;
  while (!closing_ && (worker_.behind() || worker_.lent())) {
    if (!held_since && worker_.behind()) {
      held_since = run_.clock.seconds();
      worker_.count_hold();
    }
    if (worker_.behind()) give_back();
    worker_.changed.wait(worker_.mutex);
  }
  if (held_since) worker_.end_wait(*held_since);
  if (closing_) return false;
  if (returned_ > returned)
    post_.submit(0, mail_header(MailKind::held, false, worker_.gradients()));
  worker_.begin_gradient(worker_.time().time());
  return true;
}

// At the end of a run other workers commit what a held worker cannot: the run does not wait for it.
void GradientThread::give_back() {
  if (!is_last_ || allowed_ <= worker_.gradients()) return;
  ++returned_;
  allowed_ = worker_.gradients();
  post_.submit(0, mail_header(MailKind::held, true, allowed_));
}

// A worker at the end of its last leg waits for the end of the run.
bool GradientThread::visit_until_gradient() {
  visits_->assert_locked();
  while (!closing_ && visits_->ends()) worker_.changed.wait(worker_.mutex);
  if (closing_) return false;
  const bool computes = visits_->begin();
  while (!computes && !closing_) worker_.changed.wait(worker_.mutex);
  return computes;
}

void GradientThread::hold_until(double until) {
  if (slow_factor_ <= 1) return;
  MutexLock lock(worker_.mutex);
  while (!closing_ && run_.clock.seconds() < until)
    worker_.changed.wait_for(worker_.mutex, until - run_.clock.seconds());
}

// Waits while the run's other gradients are granted to others, or are not known to be left; while
// the partner of an exchange has the worker's vectors; and for a mark that can be placed at once,
// so that the clock does not fall behind where gradients take less than the other thread's wake-up.
bool GradientThread::must_wait() {
  if (worker_.gradients() >= allowed_ || worker_.lent()) return true;
  if (!worker_.time().is_at_stop()) return false;
  if (visits_ != nullptr) {
    visits_->assert_locked();
    return visits_->is_idle();
  }
  worker_.make_due();
  return !worker_.edges().any_by(worker_.time().time_of(worker_.time().stop()));
}

bool GradientThread::commit(double loss, double began) {
  MutexLock lock(worker_.mutex);
  worker_.end_span(SpanKind::compute, began);
  if (must_wait()) {
    const double since = run_.clock.seconds();
    while (must_wait() && !closing_) worker_.changed.wait(worker_.mutex);
    worker_.end_wait(since);
  }
  if (closing_) return false;
  const Position here = worker_.count();
  bool goes_on = false;
  if (visits_ != nullptr) {
    visits_->assert_locked();
    goes_on = visits_->go_on(here, loss);
  } else {
    goes_on = worker_.commit(here, loss, {.begins_next = !worker_.behind()});
  }
  if (!goes_on) closing_ = true;
  return !closing_;
}

void GradientThread::begin(std::int64_t allowed) {
  MutexLock lock(worker_.mutex);
  allowed_ = allowed;
  begun_ = true;
  worker_.changed.notify_all();
}

void GradientThread::allow(std::int64_t gradients, std::int64_t returned, bool is_last) {
  MutexLock lock(worker_.mutex);
  is_last_ = is_last;
  if (returned == returned_) allowed_ = std::max(allowed_, gradients);
  worker_.changed.notify_all();
}

bool GradientThread::is_over() {
  MutexLock lock(worker_.mutex);
  return over_;
}

void GradientThread::close() {
  MutexLock lock(worker_.mutex);
  closing_ = true;
  worker_.changed.notify_all();
}

}  // namespace acid
