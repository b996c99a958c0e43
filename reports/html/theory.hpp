#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/html/report_data.hpp"

namespace acid {

/// The theory of a group's consensus distance, drawn beside its mean over seeds.
struct TheoryLine {
  std::string label;  // "A²CiD² bound", or "A²CiD², gossip alone" if it is a guide
  std::string note;   // after the label: the formula, its numbers, its assumptions
  bool bound = false;
  std::vector<double> normalised_time, value;  // of equal length, time from 0 ascending
};

/// The line is a bound if theory proves it for the whole run (settings/consensus_theory.hpp). It is
/// the decay alone, a guide to the slope, if only the decay by the method's exchanges is known, and
/// for methods of rounds if it is known what an exchange leaves of differences. Absent otherwise,
/// if workers start at one point, and for a run first sampled after t = 0. Both are about
/// expectations, also of the geometric mean over seeds, and a single run can be above.
///
/// `starts`: for each seed its first sample of consensus_distance, x in normalised time. `end`:
/// where the line ends.
std::optional<TheoryLine> theory_line(const ComparedGroup& group, const GroupNetwork& network,
                                      std::span<const CurvePoint> starts, double end);

}  // namespace acid
