#pragma once

#include <string>

#include "reports/html/report_data.hpp"

namespace acid {

/// The whole document. Equal data give equal bytes: nothing of the clock, the machine or the
/// store's place enters.
std::string draw_page(const ReportData& data);

}  // namespace acid
