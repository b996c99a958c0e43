#pragma once

#include <string>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// How long a worker takes for one gradient of its own, and how much of that it waits: seconds ×
/// workers ÷ gradients of each finished run, mean and 95 % t interval over seeds. A figure with a
/// bar per group, computing filled and waiting hollow, and its table; empty without finished runs.
PageFigure runtime_figure(const ReportData& data);
/// The figure's data as CSV (RFC 4180): label, n, seconds, ci_low, ci_high, waiting share.
std::string runtime_csv(const ReportData& data);

}  // namespace acid
