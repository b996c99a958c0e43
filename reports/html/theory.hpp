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

/// The line is a bound where theory's is proven of the whole run (settings/consensus_theory.hpp).
/// It is the decay alone, a guide to the slope, where it is known of the method's exchanges and no
/// more is, and for methods of rounds where it is known what an exchange leaves of differences.
/// Absent otherwise, where workers start at one point, and for a run first sampled after t = 0.
/// Both are of expectations, also of the geometric mean over seeds, and a single run can lie above.
///
/// `starts`: for each seed its first sample of consensus_distance, x in normalised time. `end`: how
/// far the line goes.
std::optional<TheoryLine> theory_line(const ComparedGroup& group, const GroupNetwork& network,
                                      std::span<const CurvePoint> starts, double end);

}  // namespace acid
