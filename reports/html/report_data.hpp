#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/compare.hpp"
#include "reports/curves.hpp"
#include "reports/html/network_charts.hpp"

namespace acid {

/// The curves of a report, in the order shown.
struct CurveMetric {
  std::string_view name;
  std::string_view title;
  bool logarithmic;
};
inline constexpr std::array kCurveMetrics{
    CurveMetric{"eval_loss", "Evaluation loss", false},
    CurveMetric{"eval_accuracy", "Evaluation accuracy", false},
    CurveMetric{"train_loss", "Training loss", false},
    CurveMetric{"consensus_distance", "Consensus distance", true},
};

/// One algorithm's curves of one metric against one axis, ready to be drawn.
struct GroupCurves {
  std::vector<std::vector<CurvePoint>> seeds;  // thinned
  Band band;                                   // from all recorded points
};

/// What is known of a group's network, over its finished runs.
struct GroupNetwork {
  int workers = 1;
  std::string kind;
  int grid_columns = 0;                   // of a torus; else 0
  std::vector<RatedEdge> edges;           // empty when none was recorded
  std::optional<double> deviation_p;      // χ² test of the counts against λᵢⱼ
  std::map<std::string, double> numbers;  // rate, lambda2, chi1, …: see spectral_columns()
  std::vector<double> worker_gradients;   // means over runs
  std::vector<double> worker_idle_share;
};

/// Everything a page shows, read from the store; drawing it needs no store.
struct ReportData {
  ExperimentRecord experiment;
  Comparison comparison;
  std::vector<RunDetail> runs;  // as asked for
  /// [group][metric of kCurveMetrics][axis of kAxes].
  std::vector<std::array<std::array<GroupCurves, kAxes.size()>, kCurveMetrics.size()>> curves;
  std::vector<GroupNetwork> networks;  // parallel to comparison.groups
  std::vector<int> styles;             // of each group: one per label
};

/// Reads a run's series one run at a time and keeps only what is drawn, so that memory stays small.
ReportData read_report(const Store& store, const std::vector<std::string>& run_ids);

}  // namespace acid
