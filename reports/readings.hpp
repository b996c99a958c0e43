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

/// Metrics that are read with all runs at the same setting in view, because each run alone would
/// have other numbers under the same name: its target, the mean of its consensus distance mid-run.

/// Sets the target that each group is measured against: the requested one, else its recipe's, else
/// that of the other groups of its points. Points whose groups have different ones are marked.
/// After form_points.
void settle_targets(Comparison& comparison);
/// Adds *_to_target and consensus_distance_mid to runs that have been read one by one
/// (read_compared_run()). `selections`: as in compare_runs().
void read_in_points(const Store& store, std::vector<ComparedRun>& runs,
                    const CompareOptions& options, const std::vector<Selection>& selections);
/// Reads the first values of outcomes, of what a search may choose by, and of the target's metric:
/// the scale of rounding.
void read_starts(const Store& store, ComparedRun& run, const std::optional<Target>& target = {});
/// Keeps for each point the part of its runs over which their consensus distance was averaged.
void gather_mid_spans(Comparison& comparison, const std::vector<ComparedRun>& runs);

/// The number of the group's runs that reached its target.
std::size_t reached(const ComparedGroup& group);
/// "eval_accuracy = 0.25"
std::string target_text(const Target& target);
/// The targets of these groups (empty: of all), with "or" between; empty without any.
std::string targets_of(const Comparison& comparison, const std::vector<std::size_t>& groups = {});
/// "gradients to target" as "gradients to eval_accuracy = 0.25": the name of a table or column of
/// *_to_target. Other titles stay as they are.
std::string with_target(std::string title, const std::string& targets);

}  // namespace acid
