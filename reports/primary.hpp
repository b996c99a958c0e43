#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/comparison.hpp"

namespace acid {

/// The verdict's metric, known before any value is: from the recipe's [comparison], else from the
/// task. If runs stop at a target all are compared by the way to it, since last values are the
/// target's, or, if targets differ, by another outcome; runs without gradients by their consensus
/// distance, since exchanges alone change no loss; others by the first outcome of kOutcomes that
/// they record. If metrics were named, the first outcome among those. After choosing the metrics,
/// before differences.
void choose_primary(Comparison& comparison, const std::vector<ComparedRun>& runs,
                    const CompareOptions& options);

/// Whether the metric is consensus_distance, in the middle of a run or at a place.
bool is_consensus(std::string_view metric);
/// Chooses the baseline of consensus distances at each point: `baseline`, which a person asked for,
/// if it is there and its workers differ, else the recipe's, else the first algorithm of pairwise
/// exchanges by rate, if any.
void choose_consensus_baselines(Comparison& comparison, const std::string& baseline);
/// The baseline group of differences in this metric.
std::optional<std::size_t> baseline_for(const ComparedPoint& point, std::string_view metric);
/// The baseline's label at the first point that has one; empty without any.
std::string consensus_baseline_label(const Comparison& comparison);
/// " to AD-PSGD": the baseline, if the difference's metric has one of its own; else empty.
std::string own_baseline_words(const Comparison& comparison, const ComparedDifference& difference);
/// Whether a test of the metric has a sentence: the primary outcome wherever it is compared, the
/// mid-run consensus distance, and metrics with a margin.
bool has_verdict(const Comparison& comparison, std::string_view metric);

/// "evaluation accuracy", "gradients to the target". Other metrics go by their names.
std::string words_of(std::string_view metric);
/// The same with the target, if the group's runs have one: "gradients to eval_loss = 0.1".
std::string words_of(const ComparedGroup& group, std::string_view metric);

}  // namespace acid
