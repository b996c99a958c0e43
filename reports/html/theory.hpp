#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/html/report_data.hpp"

namespace acid {

/// What theory says of a group's consensus distance, to be drawn beside its mean over seeds.
struct TheoryLine {
  std::string label;  // "A²CiD² bound", or "A²CiD², gossip alone" where it is a guide
  std::string note;   // to follow the label: the formula, its numbers, what it assumes
  bool bound = false;
  std::vector<double> normalised_time, value;  // of equal length, time from 0 ascending
};

/// C(t) = (1/n) Σ ‖xᵢ − x̄‖² in normalised time t, for exchanges that take no time, decays as the
/// method's own file says (AlgorithmEntry::theory). Steps of pure noise, variance γ²σ² in each of d
/// parameters, by Poisson clocks, add at most the level factor · (1 − 1/n) γ²σ²d / rate, times one
/// minus the same exponential.
///
/// Methods of rounds have the slope of what an exchange leaves of differences, where that is known.
///
/// The line is a bound where a run fulfils all of that: the quadratic task without curvature in the
/// virtual driver. Elsewhere it is the decay alone, as a guide to the slope; absent where workers
/// start at one point, for other methods and parameters, and for a run first sampled after t = 0.
/// Both are of expectations, also of the geometric mean over seeds, and a single run can lie above.
///
/// `starts`: for each seed its first sample of consensus_distance, x in normalised time. `end`: how
/// far the line goes.
std::optional<TheoryLine> consensus_theory(const ComparedGroup& group, const GroupNetwork& network,
                                           std::span<const CurvePoint> starts, double end);

}  // namespace acid
