#pragma once

#include <string>

#include "reports/html/report_data.hpp"

namespace acid {

/// Means of every group and, under <details>, all that is known of their spread.
std::string verdict_table(const ReportData& data);

/// Differences to the baseline, one figure per outcome, and ratios of consensus distances.
std::string verdict_forests(const ReportData& data);

}  // namespace acid
