#pragma once

#include "reports/comparison.hpp"

namespace acid {

/// The target that the runs of a group are measured against: the requested one, else that of their
/// recipe. Absent if there is neither.
std::optional<Target> target_of(const nlohmann::json& settings, const std::optional<Target>& asked);

/// How far on the axis a finished run has a state. A run that the clock ended, perhaps in the
/// middle of a round, keeps its last state until its own limit in seconds. Slightly beyond what was
/// recorded, which may be a sum of many durations.
double end_on(PositionAxis axis, const RunSummary& run, const nlohmann::json& settings);

/// Adds what a reader must know to understand the numbers: missing runs and seeds, targets not
/// reached, settings that differ from the baseline's, too few seeds, where metrics were read. The
/// rest of the comparison is complete.
void add_notes(Comparison& comparison, const std::vector<ComparedRun>& runs,
               const CompareOptions& options);

}  // namespace acid
