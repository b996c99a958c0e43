#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/recorder/metrics.hpp"
#include "reports/claims.hpp"
#include "reports/comparison.hpp"
#include "reports/curves.hpp"
#include "reports/hosts.hpp"
#include "reports/html.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/predicted.hpp"

namespace acid {

/// How finely a page shows its curves, which are computed from every recorded value.
struct CurveDetail {
  int cells = 0;            // of a band
  int seed_points = 0;      // of a seed's line, at most
  bool seeds_shown = true;  // else they are too many for lines of their own: only bands
  // In the static drawings, which the script's replace on screen; 0: there are none.
  int drawn_cells = 0;
  int drawn_points = 0;
};

/// The budget of the page's size: all curves of a page together take about 3 MB at most, so that
/// the page stays below 5 MB. `metrics`: drawn for each run; `axes`: they are drawn against;
/// `scripted`: the page has a data block, and its drawings are for print.
CurveDetail curve_detail(std::size_t runs, std::size_t groups, std::size_t metrics,
                         std::size_t axes, bool scripted);

/// An axis of curves: one of the store's, or epochs, which are gradients in another unit.
struct CurveAxis {
  std::string_view key;         // "gradients", "epochs", "normalised_time", "seconds", "bytes"
  std::string_view tab, label;  // in the switch, under the chart
  PositionAxis measured = PositionAxis::gradients;
  bool in_epochs = false;
};

/// One run's line in a chart.
struct SeedCurve {
  std::string run;
  std::uint64_t seed = 0;
  std::vector<SeriesPoint> points;  // thinned, for drawing only
  bool whole = true;                // it has all points
};

/// One group's curves of one metric, ready to be drawn.
struct GroupCurves {
  std::vector<SeedCurve> seeds;  // by seed; empty if it was not recorded
  /// By axis of ReportData::axes, from all recorded values; empty if the axis has no meaning.
  std::vector<Band> bands;
};

/// A group's network, over its finished runs.
struct GroupNetwork {
  int workers = 1;
  std::string kind;
  int grid_columns = 0;                   // of a torus; else 0
  std::vector<RatedEdge> edges;           // empty if none was recorded
  std::optional<double> deviation_p;      // χ² test of the counts against λᵢⱼ
  std::map<std::string, double> numbers;  // rate, lambda2, chi1, …, and the method's own
  std::vector<double> worker_gradients;   // means over runs
  std::vector<double> worker_idle_share;
};

/// Everything a page shows, read from the store; drawing it needs no store.
struct ReportData {
  std::vector<ExperimentRecord> experiments;  // that asked for the runs, as far as they are known
  /// What names the runs in a command: experiments, else the runs, and conditions on them.
  std::vector<std::string> names, where;
  bool all_of_experiments = true;  // the page leaves out none of their runs
  Comparison comparison;
  std::vector<RunDetail> runs;                   // as asked for
  std::vector<Metric> metrics;                   // recorded ones with a curve
  std::vector<CurveAxis> axes;                   // those on which some run moves
  CurveDetail detail;                            // of `curves`
  std::vector<std::vector<GroupCurves>> curves;  // [group][metric of `metrics`]
  std::vector<double> gradients_per_epoch;       // of each group; 0: epochs have no meaning
  std::vector<GroupNetwork> networks;            // parallel to comparison.groups
  std::vector<int> styles;                       // of each group: one per label
  /// [group][worker]: spans of the group's first finished run that was never resumed, as kept.
  std::vector<std::vector<std::vector<Span>>> spans;
  std::vector<std::pair<std::string, JudgedClaim>> claims;  // each with its experiment's name
  PredictionScores predictions;
  HostsAtWork hosts;  // of these runs and of those that their searches tried
  bool live = false;
};

/// A group's network from its runs' details: counts summed over the finished runs. If no edges were
/// recorded (synchronous methods), the topology is built again from the settings; edges stay empty
/// if that is not possible.
GroupNetwork network_of(const ComparedGroup& group, const std::vector<const RunDetail*>& runs);

/// The place of a position on an axis, for a group with so many gradients per epoch; NaN if epochs
/// have no meaning.
double place_on(const Position& position, const CurveAxis& axis, double gradients_per_epoch);

/// The page’s final value: the last value of each finished run, over seeds; n = 0 without one, or
/// where a run missed the target that it is the way to.
Estimate final_value(const ReportData& data, std::size_t group, std::string_view metric);

/// Reads the runs on several threads and keeps only data that is drawn, to save memory.
ReportData read_report(const Store& store, const AskedRuns& asked,
                       const ReportOptions& options = {});

}  // namespace acid
