#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reports/html/report_data.hpp"

namespace acid {

/// What the page's script draws curves and timelines from; of a sweep's settings each has its own.
nlohmann::ordered_json page_data(const ReportData& data);

/// JSON in which no character can end the element it stands in.
std::string in_element(std::string_view json);

/// page_data() as the element that holds it. reports/page/src/data.ts describes it and reads it:
/// whoever changes one changes both.
std::string data_block(const ReportData& data);

}  // namespace acid
