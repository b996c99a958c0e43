#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "engine/topology/mixing_schedule.hpp"
#include "engine/topology/spectral.hpp"

namespace acid {

/// The numbers of a schedule of graphs, from its telling_exchanges().
struct ScheduleNumbers {
  std::int64_t period = 0;  // 0: drawn
  Stochastic stochastic = Stochastic::doubly;
  double messages = 0;  // per exchange, of all workers, expected
  /// For the expected graph, in exchanges: the rate of edge ij is E Wᵢⱼ + E Wⱼᵢ, so that Λ = 2(I −
  /// E W) if W is symmetric, as for meetings that average.
  Spectral expected;
  /// The share of the workers' differences that is left in the worst case, in norm, after a period:
  /// ‖P − 11ᵀ/n‖₂ of the product P. For drawn matrices after one exchange, as the root of the
  /// expected square: √‖E WᵀW − 11ᵀ/n‖₂. Absent for more workers than dense matrices can hold.
  std::optional<double> left;
  /// The share that each of many periods leaves: the spectral radius of P − 11ᵀ/n. For drawn
  /// matrices as `left`. Absent where `left` is, and for weights that are not doubly stochastic.
  std::optional<double> left_in_long_run;
};

/// For at least 2 workers.
ScheduleNumbers schedule_numbers(const MixingSchedule& schedule, int workers);
/// {"period": 3, null if graphs are drawn, "stochastic": "doubly", "columns" or "rows", "messages",
/// "chi1", "chi2", "left"}, as in plans and commands.
nlohmann::json document_of(const ScheduleNumbers& schedule);

/// The effect of an exchange of models on their differences, by W's eigenvalues other than the 1 of
/// the mean; NaN: not known.
struct MixingNumbers {
  double rho = 0;         // the largest in magnitude: the share left in the worst case, in norm
  double lambda2 = 0;     // the largest eigenvalue
  double lambda_min = 0;  // the least eigenvalue
};
/// For a symmetric W of at least 2 workers; not known for more than kMostMixingWorkers.
inline constexpr int kMostMixingWorkers = 512;
MixingNumbers mixing_numbers(const MixingMatrix& weights);
/// For an exchange of a schedule: only rho, of left_in_long_run, the mean over a period. All
/// unknown for weights that are not doubly stochastic, since differences are then not the whole
/// effect.
MixingNumbers mixing_numbers(const ScheduleNumbers& schedule);

}  // namespace acid
