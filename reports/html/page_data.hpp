#pragma once

#include <string>

#include "reports/html/report_data.hpp"

namespace acid {

/// What the page's script draws from, as the element that holds it: JSON in which no character can
/// end the element. reports/page/src/data.ts describes it and reads it: whoever changes one changes
/// both.
std::string data_block(const ReportData& data);

}  // namespace acid
