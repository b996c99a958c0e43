#pragma once

#include <array>
#include <string>
#include <string_view>

#include "reports/html/report_data.hpp"

namespace acid {

/// What a verdict is about, the first of them that was recorded and differs.
struct OutcomeMetric {
  std::string_view name, words;
};
inline constexpr std::array kOutcomes{OutcomeMetric{"eval_accuracy", "evaluation accuracy"},
                                      OutcomeMetric{"eval_loss", "evaluation loss"},
                                      OutcomeMetric{"train_loss", "training loss"}};
inline constexpr const char* kMidConsensus = "consensus_distance_mid";

/// The best group of a sweep point on average, its value, n, and by how much the next one is
/// behind, paired by seed; plain text, empty where there is nothing to rank. The part before the
/// first full stop names the winner.
struct Headline {
  std::string winner, rest;
};
Headline headline(const Comparison& comparison, const ComparedPoint& point);

/// Means of every group and, under <details>, all that is known of their spread.
std::string verdict_table(const ReportData& data);

/// Differences to the baseline, one figure per outcome, and ratios of consensus distances.
std::string verdict_forests(const ReportData& data);

}  // namespace acid
