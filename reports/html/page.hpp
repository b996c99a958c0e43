#pragma once

#include <string>

#include "reports/html/report_data.hpp"

namespace acid {

/// The whole document. Equal data give equal bytes: the clock, the machine and the store's place
/// have no effect.
std::string draw_page(const ReportData& data);

}  // namespace acid
