#include "reports/html/report_data.hpp"

#include <algorithm>

#include "reports/html/network_data.hpp"
#include "reports/html/style.hpp"

namespace acid {
namespace {

constexpr int kCells = 200;        // of a band: finer than a screen shows, a page can hold
constexpr int kMostColumns = 180;  // of a seed's line
constexpr int kFewestColumns = 16;
constexpr double kPathBytes = 2.4e6;    // of all seed lines together, so that a page stays ≤ 5 MB
constexpr double kBytesPerColumn = 12;  // two points

using AxisEnds = std::array<double, kAxes.size()>;

/// One run's curves before seeds are put together.
struct RunCurves {
  std::array<std::array<std::vector<CurvePoint>, kAxes.size()>, kCurveMetrics.size()> lines;
  std::array<std::array<std::vector<double>, kAxes.size()>, kCurveMetrics.size()> cells;
};

int columns_for(std::size_t runs) {
  const double charts = static_cast<double>(kAxes.size() * kCurveMetrics.size());
  const double columns = kPathBytes / kBytesPerColumn / charts / static_cast<double>(runs);
  return std::clamp(static_cast<int>(columns), kFewestColumns, kMostColumns);
}

RunCurves read_curves(const Store& store, RunSummary& run, const AxisEnds& ends, int columns) {
  RunCurves curves;
  for (std::size_t m = 0; m < kCurveMetrics.size(); ++m)
    for (const Series& series :
         read_series(store, run.id, std::string(kCurveMetrics[m].name), true)) {
      if (series.metric == "consensus_distance")
        if (const auto mid = consensus_mid(run, series.points))
          run.metrics["consensus_distance_mid"] = *mid;
      for (std::size_t a = 0; a < kAxes.size(); ++a) {
        const std::vector<CurvePoint> points = points_on(series.points, kAxes[a]);
        curves.lines[m][a] = thinned(points, ends[a], columns);
        curves.cells[m][a] = on_grid(points, ends[a], kCells);
      }
    }
  return curves;
}

/// How far the group's curves go on each axis.
std::map<std::string, AxisEnds> ends_by_group(const std::vector<RunDetail>& runs) {
  std::map<std::string, AxisEnds> ends;
  for (const RunDetail& run : runs)
    for (std::size_t a = 0; a < kAxes.size(); ++a) {
      double& end = ends[run.summary.group][a];
      end = std::max(end, coordinate(run.summary.progress, kAxes[a]));
    }
  return ends;
}

void gather(ReportData& data, const std::map<std::string, AxisEnds>& ends,
            std::map<std::string, RunCurves>& curves) {
  data.curves.resize(data.comparison.groups.size());
  for (std::size_t g = 0; g < data.curves.size(); ++g) {
    const ComparedGroup& group = data.comparison.groups[g];
    for (std::size_t m = 0; m < kCurveMetrics.size(); ++m)
      for (std::size_t a = 0; a < kAxes.size(); ++a) {
        std::vector<std::vector<double>> cells;
        GroupCurves& out = data.curves[g][m][a];
        for (const RunSummary& run : group.runs) {
          RunCurves& of_run = curves.at(run.id);
          if (of_run.lines[m][a].empty()) continue;
          out.seeds.push_back(std::move(of_run.lines[m][a]));
          cells.push_back(std::move(of_run.cells[m][a]));
        }
        out.band = band_over_seeds(cells, ends.at(group.group)[a], kCurveMetrics[m].logarithmic);
      }
  }
}

/// One style per label, in order of appearance; the baseline first, in ink.
std::vector<int> styles_of(const Comparison& comparison) {
  std::vector<std::string> labels;
  const auto add = [&](const std::string& label) {
    if (std::find(labels.begin(), labels.end(), label) == labels.end()) labels.push_back(label);
  };
  for (const ComparedPoint& point : comparison.points)
    if (point.baseline) add(comparison.groups[*point.baseline].label);
  for (const ComparedGroup& group : comparison.groups) add(group.label);
  std::vector<int> styles;
  for (const ComparedGroup& group : comparison.groups) {
    const auto place = std::find(labels.begin(), labels.end(), group.label) - labels.begin();
    styles.push_back(static_cast<int>(place) % kStyles);
  }
  return styles;
}

}  // namespace

ReportData read_report(const Store& store, const std::vector<std::string>& run_ids) {
  ReportData data;
  for (const std::string& id : run_ids) data.runs.push_back(run_detail(store, id));
  const std::map<std::string, AxisEnds> ends = ends_by_group(data.runs);
  const int columns = columns_for(std::max<std::size_t>(1, data.runs.size()));
  std::map<std::string, RunCurves> curves;
  std::vector<ComparedRun> compared;
  for (const RunDetail& run : data.runs) {
    compared.push_back(read_compared_run(store, run.summary, run.settings));
    if (run.summary.state == RunState::finished)
      curves[run.summary.id] =
          read_curves(store, compared.back().summary, ends.at(run.summary.group), columns);
  }
  data.comparison = compare_runs(compared);
  data.experiment = experiment_of(store, run_ids.front());
  gather(data, ends, curves);
  for (const ComparedGroup& group : data.comparison.groups) {
    std::vector<const RunDetail*> runs;
    for (const RunDetail& run : data.runs)
      if (run.summary.group == group.group) runs.push_back(&run);
    data.networks.push_back(network_of(group, runs));
  }
  data.styles = styles_of(data.comparison);
  return data;
}

}  // namespace acid
