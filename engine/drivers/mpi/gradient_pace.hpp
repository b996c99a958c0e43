#pragma once

#include <algorithm>
#include <limits>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/thread_seconds.hpp"

namespace acid {

/// How long a slow process takes over a gradient: a factor times its undisturbed time, as far as
/// that has been seen. So it keeps its pace on a busy machine, too. Belongs to the gradient thread.
class GradientPace {
 public:
  GradientPace(double factor, const Clock& clock) : factor_(factor), clock_(clock) {}

  void begin() {
    begun_ = clock_.seconds();
    thread_begun_ = thread_seconds();
  }
  /// The gradient is computed. Returns the time on the clock until which it is held back.
  double end() {
    least_seconds_ = std::min(least_seconds_, thread_seconds() - thread_begun_);
    return factor_ <= 1 ? begun_ : begun_ + factor_ * least_seconds_;
  }

 private:
  const double factor_;
  const Clock& clock_;
  double begun_ = 0, thread_begun_ = 0;
  double least_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace acid
