#pragma once

#include <cstdint>
#include <optional>

#include "engine/topology/mixing_schedule.hpp"
#include "engine/topology/spectral.hpp"

namespace acid {

/// What is known of a schedule of graphs, from its telling_exchanges().
struct ScheduleNumbers {
  std::int64_t period = 0;  // 0: drawn
  Stochastic stochastic = Stochastic::doubly;
  double messages = 0;  // per exchange, of all workers, expected
  /// Of the expected graph, in exchanges: the rate of edge ij is E Wᵢⱼ + E Wⱼᵢ, so that Λ = 2(I − E
  /// W) where W is symmetric, as of meetings that average.
  Spectral expected;
  /// How much of the workers' differences is left in the worst case, in norm, after a period:
  /// ‖P − 11ᵀ/n‖₂ of the product P. Of drawn matrices after one exchange, in expectation of the
  /// square: √‖E WᵀW − 11ᵀ/n‖₂. Nothing for more workers than dense matrices are for.
  std::optional<double> left;
};

/// At least 2 workers.
ScheduleNumbers schedule_numbers(const MixingSchedule& schedule, int workers);

}  // namespace acid
