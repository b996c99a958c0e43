#pragma once

#include "reports/compare.hpp"

namespace acid {

/// Runs by group digest, groups in order of first appearance, finished and diverged runs by seed.
/// Labels are made unique within a sweep point by the algorithm's own settings that differ.
void form_groups(Comparison& comparison, const std::vector<ComparedRun>& runs);
/// Runs that read no graph, whose settings have no topology, are computed once for all: their group
/// takes its place at each sweep point whose other settings it has, with that point's graph. After
/// form_groups.
void share_groups(Comparison& comparison);
/// Sweep points, and each one's baseline. A key is swept when one label has several values of it: a
/// key that a recipe sets for one algorithm only does not separate that algorithm from the rest.
void form_points(Comparison& comparison);
/// Sections by the values of these settings, or by point when there are none; sections and the rows
/// in them keep the order of the points. UsageError, with the nearest keys, for a setting that no
/// group has. After form_points.
void form_sections(Comparison& comparison, const std::vector<std::string>& by);
/// Labels unique within a point. After form_points.
void distinguish_labels(Comparison& comparison);

}  // namespace acid
