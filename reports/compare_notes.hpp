#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// How far on the axis a finished run has a state. A run that the clock ended, perhaps in the
/// middle of a round, keeps its last state until its own limit in seconds. Slightly beyond what was
/// recorded, which may be a sum of many durations.
double end_on(PositionAxis axis, const RunSummary& run, const nlohmann::json& settings);

/// Adds what a reader must know to understand the numbers: missing runs and seeds, targets not
/// reached, settings that differ from the baseline's, too few seeds, where metrics were read. The
/// rest of the comparison is complete.
void add_notes(Comparison& comparison, const std::vector<ComparedRun>& runs,
               const CompareOptions& options);

/// Adds notes about one group's numbers to its comparison.
class GroupNotes {
 public:
  GroupNotes(Comparison& comparison, std::size_t point, std::size_t group)
      : comparison_(comparison), point_(point), group_(group) {}

  const ComparedGroup& group() const { return comparison_.groups[group_]; }
  /// "AD-PSGD at workers.count = 8".
  std::string name() const {
    const std::string title = point_title(comparison_.points[point_]);
    return group().label + (title.empty() ? "" : " at " + title);
  }
  void add(NoteKind kind, std::string text, std::vector<std::string> metrics = {}) {
    ComparedNote note{kind, std::move(text), {group().group}, std::move(metrics)};
    if (comparison_.points.size() > 1) note.point = point_;
    comparison_.notes.push_back(std::move(note));
  }

 private:
  Comparison& comparison_;
  std::size_t point_, group_;
};

// Parts of add_notes().

/// Notes what decides the verdict besides p: the baseline of consensus distances, and the size
/// below which differences of the primary outcome count as none.
void note_outcome(Comparison& comparison);
/// Notes where and how well metrics are read.
void note_readings(GroupNotes notes, const std::vector<ComparedRun>& runs,
                   const CompareOptions& options);
void note_targets(Comparison& comparison);
void note_readings(Comparison& comparison, const CompareOptions& options);

}  // namespace acid
