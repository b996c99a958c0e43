#pragma once

#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

// The steps of compare_runs() that compute: in this order, once groups, points and the primary
// outcome are there.

void estimate_metrics(Comparison& comparison, const std::vector<std::string>& metrics);
/// Of every group to its baseline in these metrics (baseline_for()), without Holm. No difference
/// where consensus distances of one of the two are 0 by construction, and no test of a total that
/// the baseline has alike with every seed.
void find_differences(Comparison& comparison, const std::vector<std::string>& metrics);
/// Its workers agree by construction, so that a test of how far others are apart is of nothing.
bool always_agrees(const ComparedGroup& group, const std::string& metric);
/// Holm's p and simultaneous intervals. A family is all that is claimed of the primary outcome; of
/// any other metric all of that metric.
void adjust_differences(Comparison& comparison);
void find_ratios(Comparison& comparison);

}  // namespace acid
