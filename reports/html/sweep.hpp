#pragma once

#include <string>
#include <string_view>

#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// Whether there are more than kMostDetailedPoints settings: then a page begins with an overview of
/// all and keeps the details of each packed until a reader asks for them, with the page's script.
bool is_sweep(const ReportData& data);

/// The data of a report of one setting; its differences are still adjusted over all settings.
ReportData one_setting(const ReportData& data, std::size_t point);

/// The primary outcome of every algorithm at every setting and, beside it, its difference to the
/// setting's baseline; one row per setting. Values that are far from all others are drawn as arrows
/// at the edge of the scale.
PageFigure draw_overview(const ReportData& data);

/// Verdict, overview, and the script's data for filters and facets.
std::string overview_section(const ReportData& data);
/// The place for the details of the setting that a reader chose.
std::string setting_section(const ReportData& data);

/// HTML that the script unpacks when its fold, named `summary`, opens.
std::string packed_details(std::string_view summary, const std::string& html);

}  // namespace acid
