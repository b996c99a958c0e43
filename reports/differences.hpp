#pragma once

#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

// The steps of compare_runs() that compute: in this order, once groups, points and the primary
// outcome are there.

void estimate_metrics(Comparison& comparison, const std::vector<std::string>& metrics);
/// Finds the differences of every group to its baseline in these metrics (baseline_for()), without
/// Holm. There is no difference if consensus distances of one of the two are 0 by construction, and
/// no test of a total that is the same for all seeds of the baseline.
void find_differences(Comparison& comparison, const std::vector<std::string>& metrics);
/// Whether the group's workers agree by construction: a test of distances to it says nothing.
bool always_agrees(const ComparedGroup& group, const std::string& metric);
/// Holm's p and simultaneous intervals. The family of the primary outcome has all claims about it;
/// that of any other metric has all its differences.
void adjust_differences(Comparison& comparison);
void find_ratios(Comparison& comparison);

}  // namespace acid
