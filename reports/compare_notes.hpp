#pragma once

#include "reports/comparison.hpp"

namespace acid {

/// The target that the runs of a group are measured against: the one asked for, else that of their
/// recipe. Absent where neither names one.
std::optional<Target> target_of(const nlohmann::json& settings, const std::optional<Target>& asked);

/// How far on the axis a finished run has a state. One that the clock ended, in the middle of a
/// round perhaps, stands at its last state until its own limit in seconds. A hair beyond what was
/// recorded, which may be a sum of many durations.
double end_on(PositionAxis axis, const RunSummary& run, const nlohmann::json& settings);

/// What a reader must know to read the numbers right: missing runs and seeds, targets not reached,
/// settings that differ from the baseline's, too few seeds, where metrics were read. The comparison
/// is complete but for this.
void add_notes(Comparison& comparison, const std::vector<ComparedRun>& runs,
               const CompareOptions& options);

}  // namespace acid
