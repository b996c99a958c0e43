#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
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
/// {"period": 3, null where graphs are drawn, "stochastic": "doubly", "columns" or "rows",
/// "messages", "chi1", "chi2", "left"}, as plans and commands have them.
nlohmann::json document_of(const ScheduleNumbers& schedule);

/// What an exchange of models does to their differences, by W's eigenvalues but the 1 of the mean;
/// NaN: not known.
struct MixingNumbers {
  double rho = 0;         // the largest in magnitude: what is left, in norm, in the worst case
  double lambda2 = 0;     // the largest
  double lambda_min = 0;  // the least
};
/// Of a symmetric W of 2 workers or more; not known of more than kMostMixingWorkers.
inline constexpr int kMostMixingWorkers = 512;
MixingNumbers mixing_numbers(const MixingMatrix& weights);
/// Of an exchange of a schedule: rho alone, the mean over a period; of weights that are not doubly
/// stochastic nothing, for which differences are not all.
MixingNumbers mixing_numbers(const ScheduleNumbers& schedule);

}  // namespace acid
