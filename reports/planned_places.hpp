#pragma once

#include <map>
#include <optional>
#include <string>

#include "reports/comparison.hpp"

namespace acid {

/// How far a run will come on an axis, as far as this is known before.
struct PlannedEnd {
  double least = 0, most = 0;  // equal if nothing is drawn
  /// The number of drawn parts, such as exchanges; 0: it grows evenly with a worker's gradients.
  double parts = 0;
  bool drawn = false;  // the times of the parts are drawn (Poisson)
  /// A sum of so many parts that are drawn, around `mean`.
  static PlannedEnd drawn_around(double mean, double parts);
  static PlannedEnd exactly(double end) { return {end, end}; }
};

/// What a comparison will know about how a run went.
struct PlannedCourse {
  /// Absent if only the run itself can tell.
  std::map<PositionAxis, std::optional<PlannedEnd>> ends = {};
  double gradients = 0;  // of each worker
  double every = 0;      // from one sample to the next, in gradients; 0: not known
};

/// If the number of comparisons is not known before: take the fewest possible, or the most.
enum class Untold { fewest, most };

/// Where all runs of a point will have come equally far (Comparison::equal), with the outcomes of
/// runs that will have samples there. `courses`: by ComparedGroup::runs_group; `seeds`: of each.
void plan_equal_places(Comparison& comparison, const std::map<std::string, PlannedCourse>& courses,
                       int seeds, Untold untold);

}  // namespace acid
