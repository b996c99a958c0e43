#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// The axis on which the way to a target is measured; nothing for exchanges and other metrics.
std::optional<PositionAxis> axis_of_way(std::string_view metric);

/// Adds the readings of the group's runs in the metric to ComparedGroup::readings and bends.
void add_readings(ComparedGroup& group, const std::string& metric,
                  const std::vector<Reading>& of_runs);
/// Adds the readings of all runs and metrics.
void gather_readings(Comparison& comparison, const std::vector<ComparedRun>& runs);
/// UsageError, with the run and the remedy, if no run has a value at options.at.
void refuse_if_nothing_is_read(const std::vector<ComparedRun>& runs, const CompareOptions& options);
/// How exactly the metric is known between samples, by label: "known to within 0.0041 (AR-SGD,
/// between samples 12 s apart), 0.002 (AD-PSGD, 8 s)". Empty if every value is a sample's.
std::string reading_words(const Comparison& comparison, const std::vector<std::size_t>& groups,
                          const std::string& metric);
/// "samples around there are up to 380 s apart (run 1a2b, seed 1), more than a fifth of the way
/// there".
std::string stale_words(PositionAxis axis, double apart, const std::string& run,
                        std::uint64_t seed);

/// Adds *_to_target and consensus_distance_mid to runs that have been read one by one
/// (read_compared_run()): their targets and spans follow from all runs at the same setting.
/// `selections`: as in compare_runs().
void read_in_points(const Store& store, std::vector<ComparedRun>& runs,
                    const CompareOptions& options, const std::vector<Selection>& selections);
/// Reads the first values of outcomes, of what a search may choose by, and of the target's metric:
/// the scale of rounding.
void read_starts(const Store& store, ComparedRun& run, const std::optional<Target>& target = {});
/// Keeps for each point the part of its runs over which their consensus distance was averaged.
void gather_mid_spans(Comparison& comparison, const std::vector<ComparedRun>& runs);

}  // namespace acid
