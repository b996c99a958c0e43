#include "engine/drivers/threads/slow_workers.hpp"

#include <algorithm>

namespace acid {

SlowWorkers::SlowWorkers(const ThreadsOptions& options, const std::stop_token& stop)
    : factors_(options.slow_factors),
      all_equal_(std::all_of(factors_.begin(), factors_.end(), [](double f) { return f == 1; })),
      stopping_(stop, [this] { wake(); }) {}

void SlowWorkers::keep(int worker, double seconds) {
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
  if (factor != 1) awake_.sleep(factor * typical - seconds);
}

}  // namespace acid
