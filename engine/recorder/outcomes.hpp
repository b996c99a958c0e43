#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace acid {

/// An outcome by which runs can be compared.
struct OutcomeMetric {
  std::string_view name, words;
};

inline constexpr const char* kMidConsensus = "consensus_distance_mid";

/// The metric that must be recorded for a run to have the outcome.
constexpr std::string_view recorded_for(std::string_view outcome) {
  return outcome == kMidConsensus ? "consensus_distance" : outcome;
}

/// Outcomes of a whole run. A task that has several of them is compared by the first.
inline constexpr std::array kOutcomes{
    OutcomeMetric{"eval_accuracy", "evaluation accuracy"},
    OutcomeMetric{"eval_loss", "evaluation loss"},
    OutcomeMetric{"train_loss_at_mean", "training loss of the mean model"},
    OutcomeMetric{kMidConsensus, "mid-run consensus distance"}};

/// Outcomes of a run with a target, in this order: the cost of reaching it.
inline constexpr std::array kWaysToTarget{OutcomeMetric{"gradients_to_target", "gradients"},
                                          OutcomeMetric{"time_to_target", "normalised time"},
                                          OutcomeMetric{"seconds_to_target", "time"},
                                          OutcomeMetric{"bytes_to_target", "bytes"}};

constexpr bool is_outcome(std::string_view metric) {
  return std::ranges::find(kOutcomes, metric, &OutcomeMetric::name) != kOutcomes.end();
}
constexpr bool is_way_to_target(std::string_view metric) {
  return std::ranges::find(kWaysToTarget, metric, &OutcomeMetric::name) != kWaysToTarget.end();
}

}  // namespace acid
