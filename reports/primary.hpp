#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reports/comparison.hpp"

namespace acid {

/// What the verdict is about, known before any value is: what the recipe's [comparison] says, else
/// what the task does. Where runs stop at a target all are compared by the way to it, since last
/// values are the target's, or, where targets differ, by another outcome; runs without gradients by
/// their consensus distance, since exchanges alone change no loss; others by the first outcome of
/// kOutcomes that they record. Where metrics were named, the first outcome among those. After
/// choosing the metrics, before differences.
void choose_primary(Comparison& comparison, const std::vector<ComparedRun>& runs,
                    const CompareOptions& options);

/// consensus_distance, in the middle of a run or at a place.
bool is_consensus(std::string_view metric);
/// Which group of each point consensus distances are tested against: `baseline` where it is there
/// and its workers differ, else what the recipe names, else the first algorithm of pairwise
/// exchanges by rate. None where there is no such.
void choose_consensus_baselines(Comparison& comparison, const std::string& baseline);
/// The group that differences in this metric are to.
std::optional<std::size_t> baseline_for(const ComparedPoint& point, std::string_view metric);
/// Of the first point that has one; empty where none has.
std::string consensus_baseline_label(const Comparison& comparison);
/// " to AD-PSGD": whom a difference is to, where its metric has a baseline of its own; else empty.
std::string own_baseline_words(const Comparison& comparison, const ComparedDifference& difference);
/// Whether a test of the metric is told in words: the primary outcome wherever it is compared, the
/// mid-run consensus distance, which has a sentence of its own, and what has a margin.
bool has_verdict(const Comparison& comparison, std::string_view metric);

/// "evaluation accuracy", "gradients to the target". Other metrics go by their names.
std::string words_of(std::string_view metric);
/// The same where the group's runs tell which target: "gradients to eval_loss = 0.1".
std::string words_of(const ComparedGroup& group, std::string_view metric);

}  // namespace acid
