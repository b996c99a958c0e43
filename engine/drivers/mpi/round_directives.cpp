#include "engine/drivers/mpi/round_directives.hpp"

namespace acid {

bool RoundDirectives::wait_for_start() {
  MutexLock lock(mutex_);
  while (!begun_ && !closed_) changed_.wait(mutex_);
  return begun_;
}

RoundDirectives::Next RoundDirectives::wait_for(std::int64_t leg) {
  MutexLock lock(mutex_);
  while (true) {
    if (const auto what = next(leg)) {
      if (*what == Next::cut) told_cut_ = leg;
      return *what;
    }
    changed_.wait(mutex_);
  }
}

std::optional<RoundDirectives::Next> RoundDirectives::next(std::int64_t leg) const {
  if (closed_) return Next::abandoned;
  if (directive_.cut == leg && told_cut_ != leg) return Next::cut;
  if (directive_.end == leg) return directive_.save ? Next::last_cut : Next::end;
  if (directive_.allowed <= leg) return std::nullopt;
  return directive_.sample == leg ? Next::sample_and_commit : Next::commit;
}

void RoundDirectives::hold_until(double until) {
  MutexLock lock(mutex_);
  while (!closed_ && !directive_.stopping && clock_.seconds() < until)
    changed_.wait_for(mutex_, until - clock_.seconds());
}

void RoundDirectives::begin() {
  MutexLock lock(mutex_);
  begun_ = true;
  changed_.notify_all();
}

void RoundDirectives::deliver(const Mail& mail) {
  MailReader reader(mail);
  MutexLock lock(mutex_);
  reader(directive_);
  changed_.notify_all();
}

void RoundDirectives::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace acid
