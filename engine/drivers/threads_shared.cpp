#include "engine/drivers/threads_shared.hpp"

#include <algorithm>

namespace acid {

void Closing::set() {
  {
    MutexLock lock(mutex_);
    set_ = true;
  }
  changed_.notify_all();
}

bool Closing::is_set() const {
  MutexLock lock(mutex_);
  return set_;
}

void Closing::sleep(double seconds) {
  const SteadyClock clock;
  const double until = clock.seconds() + seconds;
  MutexLock lock(mutex_);
  for (double left = seconds; !set_ && left > 0; left = until - clock.seconds())
    changed_.wait_for(mutex_, left);
}

bool CyclicBarrier::wait(const std::function<void()>& leader) {
  MutexLock lock(mutex_);
  if (broken_) return false;
  if (++arrived_ == parties_) {
    if (leader) leader();
    arrived_ = 0;
    ++generation_;
    changed_.notify_all();
    return !broken_;
  }
  const std::int64_t generation = generation_;
  while (!broken_ && generation_ == generation) changed_.wait(mutex_);
  return !broken_;
}

void CyclicBarrier::abort() {
  {
    MutexLock lock(mutex_);
    broken_ = true;
  }
  changed_.notify_all();
}

Crew::~Crew() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Crew::start(std::function<void()> body) {
  const auto guarded = [this, body = std::move(body)] {
    try {
      body();
    } catch (...) {
      {
        MutexLock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      on_failure_();
    }
  };
  try {
    threads_.emplace_back(guarded);
  } catch (...) {
    on_failure_();  // those that have started may wait for this one
    throw;
  }
}

void Crew::join() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

ParallelFor sequential_for(int lane) {
  return [lane](int count, const std::function<void(int, int)>& body) {
    for (int index = 0; index < count; ++index) body(lane, index);
  };
}

Pace::Pace(const ThreadsOptions& options)
    : factors_(options.slow_factors),
      all_equal_(std::all_of(factors_.begin(), factors_.end(), [](double f) { return f == 1; })) {}

void Pace::keep(int worker, double seconds, Closing& closing) {
  constexpr double kWeight = 0.1;  // of the newest gradient in the average
  if (all_equal_) return;
  const double factor = factors_[static_cast<std::size_t>(worker)];
  double typical = seconds;
  {
    MutexLock lock(mutex_);
    if (factor == 1)
      typical_seconds_ += (typical_seconds_ == 0 ? 1 : kWeight) * (seconds - typical_seconds_);
    else if (typical_seconds_ > 0)
      typical = typical_seconds_;
  }
  if (factor != 1) closing.sleep(factor * typical - seconds);
}

}  // namespace acid
