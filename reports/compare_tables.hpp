#pragma once

#include <span>
#include <vector>

#include "reports/comparison.hpp"
#include "reports/report_table.hpp"

namespace acid {

/// The first columns of every table of a section: the label of each of these groups and its values
/// of the settings that differ within the section.
std::vector<ReportColumn> key_columns(const Comparison& comparison,
                                      std::span<const ComparedGroup* const> groups);
/// The estimates of a section's groups, a column for each metric.
ReportTable means_table(const Comparison& comparison, const ComparedSection& section);
/// The differences of a section's groups to their baselines, a row each; there may be none.
ReportTable differences_table(const Comparison& comparison, const ComparedSection& section);

}  // namespace acid
