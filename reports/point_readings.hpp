#pragma once

#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// What is read of a run only in view of all those at its setting, since otherwise each would have
/// numbers of its own under one name: its target, the mean of its consensus distance mid-run.

/// The target that each group is measured against: the one asked for, else its recipe's, else that
/// of the other groups of its points. Points whose groups have different ones are marked. After
/// form_points.
void settle_targets(Comparison& comparison);
/// Completes runs that have been read one by one (read_compared_run()) by *_to_target and
/// consensus_distance_mid. `selections`: as compare_runs() takes them.
void read_in_points(const Store& store, std::vector<ComparedRun>& runs,
                    const CompareOptions& options, const std::vector<Selection>& selections);
/// Keeps at each point over which part of its runs their consensus distance was averaged.
void gather_mid_spans(Comparison& comparison, const std::vector<ComparedRun>& runs);

/// Runs of the group that reached its target.
std::size_t reached(const ComparedGroup& group);
/// "eval_accuracy = 0.25"
std::string target_text(const Target& target);
/// That of these groups (empty: of all), or those, with "or" between; empty without any.
std::string targets_of(const Comparison& comparison, const std::vector<std::size_t>& groups = {});
/// "gradients to target" as "gradients to eval_accuracy = 0.25": what a table or a column of one of
/// *_to_target is called. Other titles stay as they are.
std::string with_target(std::string title, const std::string& targets);

}  // namespace acid
