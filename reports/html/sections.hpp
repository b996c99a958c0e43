#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/html/markup.hpp"
#include "reports/html/page_figure.hpp"
#include "reports/html/report_data.hpp"

namespace acid {

/// The part of a report that has sections: a page of few settings, one of many, and what that one
/// shows of a single setting.
enum class PagePart { few_settings, sweep, one_setting };
/// A section with its heading.
struct DrawnSection {
  std::string_view anchor, name;
  std::string html;
};
/// Those that have something to say, in their order.
std::vector<DrawnSection> sections_of(const ReportData& data, PagePart part);

/// Whether there are more than kMostDetailedPoints settings: then a page begins with an overview of
/// all and keeps the details of each packed until a reader asks for them, with the page's script.
bool is_sweep(const ReportData& data);
/// The data of a report of one setting; its differences are still adjusted over all settings.
ReportData one_setting(const ReportData& data, std::size_t point);
/// HTML that the script unpacks when its fold, named `summary`, opens.
std::string packed_details(std::string_view summary, const std::string& html);

/// What is below the headings of sections, each a pure function of the data. An empty string means
/// that there is nothing to say.
std::string verdict_section(const ReportData& data);
/// Verdict, overview, and the script's data for filters and facets.
std::string overview_section(const ReportData& data);
/// The place for the details of the setting that a reader chose.
std::string setting_section(const ReportData& data);
/// What each algorithm chose before it was compared; empty if nothing was searched.
std::string search_section(const ReportData& data);
std::string curves_section(const ReportData& data);
/// Timelines, runtime per gradient and staleness.
std::string time_section(const ReportData& data);
/// What was predicted before the runs began, and what they did; empty if nothing was.
std::string predicted_section(const ReportData& data);
std::string network_section(const ReportData& data);
/// The examples of each worker; empty if all have the same, or none.
std::string holdings_section(const ReportData& data);
/// What the recipe claims, and what the runs say of it; empty if it claims nothing.
std::string claims_section(const ReportData& data);
/// Who executed the runs, and whose process was gone; empty if one host executed all.
std::string hosts_section(const ReportData& data);
std::string seeds_section(const ReportData& data);
std::string settings_section(const ReportData& data);
std::string environment_section(const ReportData& data);
std::string checklist_section(const ReportData& data);
std::string reproduce_section(const ReportData& data);

/// Says so if the seeds are too few for any test of the primary outcome; else empty.
std::string too_few_words(const Comparison& comparison);
/// The warnings in a box; may be empty.
std::string warnings_box(const ReportData& data);
/// Means of every group and, under <details>, everything known of their spread.
std::string verdict_table(const ReportData& data);
/// Differences to the baseline, one figure per outcome, and ratios of consensus distances.
std::string verdict_forests(const ReportData& data);

/// Whether differences in it are drawn: those of outcomes and of ways to a target are.
bool has_difference_chart(const std::string& metric);
/// Differences to the baseline in one outcome, and ratios of consensus distances; empty if there
/// are none.
PageFigure difference_forest(const ReportData& data, const std::string& metric);
PageFigure ratio_forest(const ReportData& data);
/// The primary outcome of every algorithm at every setting and, beside it, its difference to the
/// setting's baseline; one row per setting. Values that are far from all others are drawn as arrows
/// at the edge of the scale.
PageFigure draw_overview(const ReportData& data);
/// How long a worker takes for one gradient of its own, and how much of that it waits: seconds ×
/// workers ÷ gradients of each finished run, mean and 95 % t interval over seeds. A figure with a
/// bar per group, computing filled and waiting hollow, and its table; empty without finished runs.
PageFigure runtime_figure(const ReportData& data);
/// The figure's data as CSV (RFC 4180): label, n, seconds, ci_low, ci_high, waiting share.
std::string runtime_csv(const ReportData& data);

/// Figures of one group; empty if there is nothing to draw.
PageFigure staleness_figure(const ReportData& data, std::size_t group);
PageFigure topology_figure(const ReportData& data, std::size_t group);
PageFigure pairing_figure(const ReportData& data, std::size_t group);
PageFigure holdings_figure(const ReportData& data, std::size_t group);
/// `idle`: the share of time that each worker waits, instead of its gradients.
PageFigure worker_figure(const ReportData& data, std::size_t group, bool idle);

/// point_title() for a picture: short keys, only those that are set, with a kind's own settings
/// after it: "partition = dirichlet alpha 0.1".
std::string brief_title(const ComparedPoint& point);
/// A setting in a table, with all its digits for the table's CSV.
Markup setting_cell(const nlohmann::json& value);
/// A group's name, with its brief sweep point if there are several.
std::string full_label(const ReportData& data, std::size_t group);

/// Where values were read, "at 160 seconds" or "best"; empty for the end.
std::string place_words(const Comparison& comparison);
/// What the simultaneous intervals of a family of so many differences are.
std::string interval_words(int family);

/// A group's name beside curves and their mean: "wild (7 of 10 diverged)" if it is not whole.
std::string curve_label(const ComparedGroup& group);

/// Figures of single groups (HTML, may be empty) in grids of the style sheet's class `grid`, one
/// per sweep point. If there are many points all but the first are under <details>, named `what`.
std::string figures_by_point(const ReportData& data, std::string_view grid, std::string_view what,
                             const std::vector<std::string>& of_group);

/// Warnings before reading the page: notes of the comparison, interrupted attempts, several
/// binaries. Plain sentences.
std::vector<std::string> warnings(const ReportData& data);

}  // namespace acid
