#pragma once

#include <set>
#include <string>
#include <vector>

#include "reports/comparison.hpp"
#include "reports/settings.hpp"

namespace acid {

/// The settings of every group.
std::vector<FlatSettings> flat_settings(const Comparison& comparison);
/// Runs by group digest, groups in order of first appearance, finished and diverged runs by seed.
/// Labels are made unique within a sweep point by the algorithm's own settings that differ.
void form_groups(Comparison& comparison, const std::vector<ComparedRun>& runs);
/// Runs that read no graph, whose settings have no topology, are computed once for all: their group
/// joins each sweep point with the same other settings, with that point's graph. After form_groups.
void share_groups(Comparison& comparison);
/// Keys outside the algorithm's own table that a sweep varies: one label has several values of
/// them. Without cadences that follow from others.
std::set<std::string> swept_keys(const Comparison& comparison);
/// UsageError of this option, with the nearest keys, for a setting that none of these has.
void require_settings(const char* option, const std::vector<std::string>& keys,
                      const std::vector<FlatSettings>& flat, const std::set<std::string>& swept);
/// Sweep points, and each one's baseline. A key that a recipe sets for one algorithm only, or that
/// a search chose for each, does not separate that algorithm from the rest.
void form_points(Comparison& comparison);
/// Sections by the values of these settings, or by point when there are none; sections and the rows
/// in them keep the order of the points. UsageError, with the nearest keys, for a setting that no
/// group has. After form_points.
void form_sections(Comparison& comparison, const std::vector<std::string>& by);
/// Whether a search chose the settings of every group.
bool chose_for_all(const Comparison& comparison, const Selection& selection);
/// Whether a group whose settings a search chose has seeds on which it chose, such as those of
/// another experiment.
bool compared_on_its_seeds(const Comparison& comparison, const Selection& selection);
/// Labels unique within a point. After form_points.
void distinguish_labels(Comparison& comparison);

}  // namespace acid
