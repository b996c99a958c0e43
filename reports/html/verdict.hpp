#pragma once

#include <string>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// The largest number of seeds if it is too small for any test of the primary outcome; else 0.
int too_few_seeds(const Comparison& comparison);
/// The tests' results; their numbers are in the pictures and the table. May be empty.
std::string verdict_in_words(const ReportData& data);
/// The warnings in a box; may be empty.
std::string warnings_box(const ReportData& data);

/// Means of every group and, under <details>, everything known of their spread.
std::string verdict_table(const ReportData& data);

/// What the simultaneous intervals of a family of so many differences are.
std::string interval_words(int family);
/// Differences to the baseline in one outcome, and ratios of consensus distances; empty if there
/// are none.
PageFigure difference_forest(const ReportData& data, const std::string& metric);
PageFigure ratio_forest(const ReportData& data);
/// Differences to the baseline, one figure per outcome, and ratios of consensus distances.
std::string verdict_forests(const ReportData& data);

}  // namespace acid
