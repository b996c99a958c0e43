#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/compare.hpp"

namespace acid {

/// Outcomes where all runs of a point have come equally far: on each axis at the smallest of their
/// ends. Ends that are this close, relative, are equal, and the last values are those.
inline constexpr double kSameEnd = 0.01;

/// "eval_loss_at_equal_seconds".
std::string metric_at_equal(std::string_view outcome, PositionAxis axis);
/// Finds these places of finished runs, from how far each has come: ComparedRun::equal.
void find_equal_places(std::vector<ComparedRun>& runs);
/// The outcomes that are read there.
std::vector<std::string_view> outcomes_at_equal();
/// Finds them and reads the outcomes of finished runs there, into metrics such as
/// "eval_accuracy_at_equal_seconds"; too_far as everywhere. Nothing where metrics are read
/// elsewhere than at the end.
void read_equal_places(const Store& store, std::vector<ComparedRun>& runs,
                       const CompareOptions& options);
/// What read_equal_places() found for the primary outcome. After choosing that.
std::vector<EqualPlace> equal_places(const Comparison& comparison,
                                     const std::vector<ComparedRun>& runs);
/// Their metrics, each once.
std::vector<std::string> equal_metrics(const Comparison& comparison);
/// The primary outcome, at the end or at an equal place: its differences are one family.
bool is_claim(const Comparison& comparison, std::string_view metric);

}  // namespace acid
