#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/run/run_spec.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// The mean over draws, and the ends of an interval in which one further draw lies with a chance of
/// 90 %: Student's t, as of a normal distribution. NaN where it is not known.
struct Range {
  double mean = 0, low = 0, high = 0;
  std::vector<double> draws = {};
  double run_share = 1;  // standard deviation of a run in that of the draws
};
/// How draws vary that are not whole runs. `run_share`: see Timing. `variation`: the standard
/// deviation of one more factor, which a run's other draws do not share (VirtualOptions), and which
/// these draws are without.
struct Spread {
  double run_share = 1, variation = 0;
};
Range range_of(std::span<const double> draws, const Spread& spread = {});
/// The same of what cannot be below 0, such as seconds: nor does the interval go there.
Range positive_range_of(std::span<const double> draws, const Spread& spread = {});
/// Whether they cannot be told apart. Draws at the same place have the same durations, so it is the
/// interval of one further difference that has to hold 0; without draws the intervals overlap.
bool overlap(const Range& a, const Range& b);

/// The first run of that group among those that will be compared.
const PlannedRun& run_of(const Plan& plan, const std::string& group);
/// The smallest so many that are not taken.
std::vector<std::uint64_t> further_seeds(std::set<std::uint64_t> taken, std::size_t count);

/// What one run takes on the virtual driver's clock.
struct Timing {
  double iteration_seconds = 0;  // for one gradient of each worker, in the mean
  double gradients_per_second = 0, seconds = 0, bytes = 0, gradients = 0, idle_share = 0;
  /// A run that is continued from a part varies more than runs do: their standard deviation in that
  /// of such draws, if what iterations take is independent.
  double run_share = 1;
};

/// The first `iterations` of a run's budget, or all of it, whichever is less. What is left of the
/// budget is taken to go on as the second half of them did, so that what happens at the start and
/// at the end counts once.
Timing timing_of(const RunSpec& spec, const VirtualOptions& options, std::size_t dimension,
                 double iterations);

/// The same over draws of durations and partners.
struct Prediction {
  Range iteration_seconds, gradients_per_second, seconds, bytes, gradients, idle_share;
  std::optional<double> closed_form;  // iteration_seconds, where a formula gives them
  double iterations = 0;              // that were simulated, of `budget`
  double budget = 0;
  bool has_pauses = false;
  bool has_target = false;
  bool sends_again = false;  // its codec does what does not fit
  bool is_limited = false;   // the budget has seconds or bytes, too

  /// All but the first, with their names in JSON.
  std::vector<std::pair<const char*, const Range*>> totals() const;
};

/// How much is simulated.
struct Effort {
  std::size_t draws = 10;
  std::optional<double> iterations;  // absent: the whole budgets, or as many as do not take long
};

/// Predicts the runs of plans. A run's draws have the recipe's seeds, then others.
class Predictor {
 public:
  /// `seeds`: of the recipe.
  Predictor(Effort effort, std::vector<std::uint64_t> seeds);

  const std::vector<std::uint64_t>& seeds() const { return seeds_; }
  /// Chooses how many iterations are simulated, if the user has not, for as many runs as this plan
  /// has.
  void size(const Plan& plan);
  /// Of the runs of this group, which the plan has. Each is computed once.
  const Prediction& of(const Plan& plan, const std::string& group);
  /// Whether all that was simulated so far took no more than some seconds.
  bool is_quick() const;

 private:
  Prediction predict(const PlannedRun& run);

  Effort effort_;
  std::vector<std::uint64_t> seeds_;         // of the draws
  std::map<std::string, Prediction> known_;  // by group
  double simulated_ = 0;                     // gradients, or exchanges where these are more
  double affordable_ = 0;  // iterations of each run, at most, where size() chose parts of budgets
};

}  // namespace acid
