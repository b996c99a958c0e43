#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "reports/html/report_data.hpp"

namespace acid {

/// The data of the script's curves and timelines; each of a sweep's settings has its own.
nlohmann::ordered_json page_data(const ReportData& data);

/// JSON in which no character can end the element it stands in.
std::string in_element(std::string_view json);

/// page_data() as the element that holds it. Change it together with reports/page/src/data.ts,
/// which describes it and reads it.
std::string data_block(const ReportData& data);

}  // namespace acid
