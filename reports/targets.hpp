#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// The target that the runs of a group are measured against: the requested one, else that of their
/// recipe. Absent if there is neither.
std::optional<Target> target_of(const nlohmann::json& settings, const std::optional<Target>& asked);

/// The comparison's points by index, together if they share runs, which have one value of a metric
/// for all.
std::vector<std::vector<std::size_t>> linked_points(const Comparison& comparison);
/// The groups of these points.
std::vector<std::size_t> groups_at(const Comparison& comparison,
                                   const std::vector<std::size_t>& points);
/// Sets the target that each group is measured against: the requested one, else its recipe's, else
/// that of the other groups of its points, if its runs recorded the metric: others cannot be said
/// to miss it. Points whose groups have different targets are marked. After form_points. Only the
/// readers' recipes give others a target.
void settle_targets(Comparison& comparison);

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
