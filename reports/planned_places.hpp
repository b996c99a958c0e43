#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// How far a run will come on an axis, as far as that can be told before.
struct PlannedEnd {
  double least = 0, most = 0;  // the same where nothing is drawn
  /// What it is the sum of, such as exchanges; 0: it grows evenly with the gradients of a worker.
  double parts = 0;
  bool drawn = false;  // when these come is drawn (Poisson)
  /// A sum of so many parts that are drawn, around `mean`.
  static PlannedEnd drawn_around(double mean, double parts);
  static PlannedEnd exactly(double end) { return {end, end}; }
};

/// What a comparison will know of how a run went.
struct PlannedCourse {
  /// Absent where only the run itself can tell.
  std::map<PositionAxis, std::optional<PlannedEnd>> ends = {};
  double gradients = 0;  // of each worker
  double every = 0;      // from one sample to the next, in these; 0: not known
};

/// Of what cannot be told before: take the fewest comparisons that there may be, or the most.
enum class Untold { fewest, most };

/// Where all runs of a point will have come equally far (Comparison::equal), with outcomes there of
/// those that will have samples there. `courses`: by ComparedGroup::runs_group; `seeds`: of each.
void plan_equal_places(Comparison& comparison, const std::map<std::string, PlannedCourse>& courses,
                       int seeds, Untold untold);

}  // namespace acid
