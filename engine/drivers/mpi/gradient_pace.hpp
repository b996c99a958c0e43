#pragma once

#include <algorithm>
#include <limits>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/thread_seconds.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

/// How long a slow process takes over a gradient: a factor times its undisturbed time, as far as
/// that has been seen. So it keeps its pace on a busy machine, too. Belongs to the gradient thread.
class GradientPace {
 public:
  GradientPace(double factor, const Clock& clock, const Objective& objective)
      : factor_(factor), clock_(clock), here_(objective.computes_here()) {}

  void begin() {
    begun_ = clock_.seconds();
    work_begun_ = work_seconds();
  }
  /// The gradient is computed. Returns the time on the clock until which it is held back.
  double end() {
    least_seconds_ = std::min(least_seconds_, work_seconds() - work_begun_);
    return factor_ <= 1 ? begun_ : begun_ + factor_ * least_seconds_;
  }

 private:
  double work_seconds() const { return here_ ? thread_seconds() : clock_.seconds(); }

  const double factor_;
  const Clock& clock_;
  const bool here_;
  double begun_ = 0, work_begun_ = 0;
  double least_seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace acid
