#include "reports/html/report_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "reports/compare.hpp"
#include "reports/drawing/looks.hpp"
#include "reports/html/page_script.hpp"
#include "reports/html/run_curves.hpp"
#include "reports/parallel_reader.hpp"
#include "settings/drivers.hpp"
#include "store/measurements.hpp"

namespace acid {
namespace {

using EndsByGroup = std::map<std::string, AxisEnds>;

struct ReadRun {
  RunDetail detail;
  ComparedRun compared;
  std::vector<RunCurve> curves;  // by metric of the report; empty if its curves are not shown
};

bool shows_curves(const RunSummary& run, bool live) {
  return live ? run.state != RunState::planned : run.state == RunState::finished;
}

/// The runs, and those that the searches of their experiments tried.
std::vector<std::string> with_searched(const Store& store, const std::vector<RunSummary>& runs) {
  std::vector<std::string> ids;
  std::set<std::string> known, experiments;
  for (const RunSummary& run : runs) {
    ids.push_back(run.id);
    known.insert(run.id);
    experiments.insert(run.experiment);
  }
  for (std::string& id : runs_of_searches(store, {experiments.begin(), experiments.end()}))
    if (known.insert(id).second) ids.push_back(std::move(id));
  return ids;
}

/// The ends of each group's curves on each axis.
EndsByGroup ends_by_group(const std::vector<RunSummary>& runs, bool live) {
  EndsByGroup ends;
  for (const RunSummary& run : runs) {
    AxisEnds& end = ends[run.group];
    if (!shows_curves(run, live)) continue;
    for (std::size_t a = 0; a < kAxes.size(); ++a)
      end[a] = std::max(end[a], coordinate(run.progress, kAxes[a]));
  }
  return ends;
}

/// Metrics with a curve, of a run whose curves are shown.
std::vector<Metric> recorded_metrics(const Store& store, const std::vector<RunSummary>& runs,
                                     bool live) {
  std::set<std::string> recorded;
  for (const RunSummary& run : runs)
    if (shows_curves(run, live))
      for (const SeriesName& series : series_names(store, run.id))
        if (series.worker == kWholeRun) recorded.insert(series.metric);
  std::vector<Metric> metrics;
  for (const Metric& metric : kMetricsIn<&Metric::curve>)
    if (recorded.count(std::string(metric.name)) > 0) metrics.push_back(metric);
  return metrics;
}

double gradients_per_epoch(const RunDetail& run) {
  const auto found = run.plan.find("gradients_per_epoch");
  return found != run.plan.end() && found->is_number() ? found->get<double>() : 0;
}

std::vector<CurveAxis> axes_of(const EndsByGroup& ends, bool simulated) {
  const auto moves = [&](PositionAxis axis) {
    const auto place = std::ranges::find(kAxes, axis) - kAxes.begin();
    return std::ranges::any_of(
        ends, [&](const auto& group) { return group.second[static_cast<std::size_t>(place)] > 0; });
  };
  std::vector<CurveAxis> axes{
      {"gradients", "gradients", "gradients, all workers", PositionAxis::gradients, false},
      {"epochs", "epochs", "epochs", PositionAxis::gradients, true},
      {"normalised_time", "normalised time", "normalised time", PositionAxis::normalised_time,
       false},
      {"seconds", "wall-clock seconds", "wall-clock seconds", PositionAxis::seconds, false},
      {"bytes", "bytes sent", "bytes sent, all workers", PositionAxis::bytes, false}};
  if (simulated) axes[3].tab = axes[3].label = "simulated seconds";
  std::erase_if(axes, [&](const CurveAxis& axis) { return !moves(axis.measured); });
  return axes;
}

ReadRun read_run(const Store& store, const RunSummary& summary, const ReportData& data,
                 const AxisEnds& ends, const CompareOptions& compare) {
  ReadRun run;
  run.detail = run_detail(store, summary.id);
  run.detail.summary = summary;
  run.compared = read_compared_run(store, run.detail.summary, run.detail.settings, compare);
  if (!shows_curves(summary, data.live)) return run;
  std::vector<std::string> names;
  for (const Metric& metric : data.metrics) names.emplace_back(metric.name);
  run.curves =
      read_run_curves(store, summary.id, names, ends, data.detail.cells, data.detail.seed_points);
  return run;
}

/// The band over the seeds on one axis, of cells in which a seed has a value: between samples
/// nothing is known.
Band band_of(const std::vector<const RunCurve*>& seeds, const CurveAxis& axis, double per_epoch,
             bool geometric) {
  if (axis.in_epochs && !(per_epoch > 0)) return {};
  const auto a = static_cast<std::size_t>(std::ranges::find(kAxes, axis.measured) - kAxes.begin());
  std::vector<std::vector<double>> means;
  for (const RunCurve* seed : seeds) means.push_back(seed->cells[a].means);
  std::vector<double> places(means.empty() ? 0 : means.front().size());
  for (std::size_t cell = 0; cell < places.size(); ++cell) {
    double sum = 0, count = 0;
    for (const RunCurve* seed : seeds)
      if (const double place = seed->cells[a].places[cell]; std::isfinite(place)) {
        sum += place;
        ++count;
      }
    places[cell] = sum / count / (axis.in_epochs ? per_epoch : 1);
  }
  return band_over_seeds(means, places, geometric);
}

void gather_group(ReportData& data, const ComparedGroup& group, std::vector<ReadRun>& runs) {
  std::vector<ReadRun*> members;
  for (ReadRun& run : runs)
    if (run.detail.summary.group == group.runs_group && !run.curves.empty())
      members.push_back(&run);
  std::ranges::stable_sort(members, {},
                           [](const ReadRun* run) { return run->detail.summary.seed; });
  data.gradients_per_epoch.push_back(
      members.empty() ? 0 : gradients_per_epoch(members.front()->detail));
  std::vector<GroupCurves>& curves = data.curves.emplace_back(data.metrics.size());
  for (std::size_t m = 0; m < data.metrics.size(); ++m) {
    std::vector<const RunCurve*> seeds;
    for (ReadRun* run : members) {
      RunCurve& curve = run->curves[m];
      if (curve.line.empty()) continue;
      seeds.push_back(&curve);
      curves[m].seeds.push_back(
          {run->detail.summary.id, run->detail.summary.seed, curve.line, curve.whole});
    }
    for (const CurveAxis& axis : data.axes)
      curves[m].bands.push_back(
          band_of(seeds, axis, data.gradients_per_epoch.back(), data.metrics[m].logarithmic));
  }
}

bool changes(const SeedCurve& seed) {
  return std::ranges::any_of(seed.points, [&](const SeriesPoint& point) {
    return point.value != seed.points.front().value;
  });
}

/// Leaves out useless parts: axes that no group has, secondary curves that are level in every run.
void drop_idle(ReportData& data) {
  if (std::ranges::none_of(data.gradients_per_epoch, [](double epoch) { return epoch > 0; }))
    for (std::size_t a = data.axes.size(); a-- > 0;)
      if (data.axes[a].in_epochs) {
        data.axes.erase(data.axes.begin() + static_cast<std::ptrdiff_t>(a));
        for (auto& group : data.curves)
          for (GroupCurves& curves : group)
            curves.bands.erase(curves.bands.begin() + static_cast<std::ptrdiff_t>(a));
      }
  for (std::size_t m = data.metrics.size(); m-- > 0;) {
    const auto is_live = [&](const std::vector<GroupCurves>& group) {
      return std::ranges::any_of(group[m].seeds, changes);
    };
    if (!data.metrics[m].folded || std::ranges::any_of(data.curves, is_live)) continue;
    data.metrics.erase(data.metrics.begin() + static_cast<std::ptrdiff_t>(m));
    for (auto& group : data.curves) group.erase(group.begin() + static_cast<std::ptrdiff_t>(m));
  }
}

/// Finds the experiments, and what names exactly these runs in a command.
void name_runs(ReportData& data, const Store& store, const AskedRuns& asked,
               const std::vector<RunSummary>& runs, const std::vector<std::string>& where) {
  std::set<std::string> seen;
  for (const RunSummary& run : runs)
    if (seen.insert(run.experiment).second)
      if (ExperimentRecord experiment = experiment_of(store, run.experiment);
          !experiment.id.empty())
        data.experiments.push_back(std::move(experiment));
  std::vector<std::string> names = asked.experiments;
  if (names.empty())
    for (const ExperimentRecord& experiment : data.experiments) names.push_back(experiment.id);
  const auto is_asked = [&](const std::vector<std::string>& ids) {
    return std::set(ids.begin(), ids.end()) == std::set(asked.ids.begin(), asked.ids.end());
  };
  data.names = asked.ids;
  data.all_of_experiments = false;
  if (names.empty()) return;
  AskedRuns all = without_searches(store, resolve_runs(store, names));
  data.all_of_experiments = is_asked(all.ids);
  if (data.all_of_experiments) {
    data.names = std::move(names);
    return;
  }
  if (where.empty() || all.ids.empty()) return;
  try {
    all = runs_where(store, std::move(all), where);
  } catch (const UsageError&) {  // it holds for none that is compared: a search tried these runs
    return;
  }
  if (!is_asked(all.ids)) return;
  data.names = std::move(names);
  data.where = where;
}

/// Each experiment's claims are judged on its own runs, as acid claim does.
void judge_page(ReportData& data, const Store& store, const AskedRuns& asked) {
  const auto add = [&](const std::string& experiment, std::vector<JudgedClaim> judged) {
    for (JudgedClaim& claim : judged) data.claims.emplace_back(experiment, std::move(claim));
  };
  if (data.experiments.size() != 1) {
    for (const Claimed& one : claimed_by(store, asked)) add(one.name, one.judge(store));
    return;
  }
  const ExperimentRecord& only = data.experiments.front();
  add(only.name, judge_claims(store, data.comparison, asked, claims_from(only.comparison)));
}

/// The spans of the group's first seed that has them and was not interrupted: of a resumed run the
/// store has only the beginning of the last attempt, in the middle of the run.
std::vector<std::vector<Span>> first_spans(const Store& store, const ComparedGroup& group,
                                           const std::vector<const RunDetail*>& details) {
  for (const RunSummary& run : group.runs) {
    const bool unbroken = std::ranges::any_of(details, [&](const RunDetail* detail) {
      return detail->summary.id == run.id && detail->attempts.back().resumed_from == 0;
    });
    if (!unbroken) continue;
    if (auto spans = read_spans(store, run.id); !spans.empty()) return spans;
  }
  return {};
}

void add_group_facts(ReportData& data, const Store& store) {
  for (const ComparedGroup& group : data.comparison.groups) {
    std::vector<const RunDetail*> runs;
    for (const RunDetail& run : data.runs)
      if (run.summary.group == group.runs_group) runs.push_back(&run);
    data.networks.push_back(network_of(group, runs));
    data.spans.push_back(first_spans(store, group, runs));
  }
}

}  // namespace

double place_on(const Position& position, const CurveAxis& axis, double gradients_per_epoch) {
  const double x = coordinate(position, axis.measured);
  if (!axis.in_epochs) return x;
  return gradients_per_epoch > 0 ? x / gradients_per_epoch
                                 : std::numeric_limits<double>::quiet_NaN();
}

Estimate final_value(const ReportData& data, std::size_t group, std::string_view metric) {
  const ComparedGroup& of = data.comparison.groups[group];
  const std::string name(metric);
  if (const auto known = of.metrics.find(name); known != of.metrics.end()) return known->second;
  if (censored(of, name) > 0) return {};
  std::vector<double> values;
  for (const RunSummary& run : of.runs)
    if (const auto found = run.metrics.find(name);
        found != run.metrics.end() && std::isfinite(found->second))
      values.push_back(found->second);
  return values.empty() ? Estimate{} : estimate(values);
}

ReportData read_report(const Store& store, const AskedRuns& asked, const ReportOptions& options) {
  ReportData data;
  data.live = options.live;
  const std::vector<RunSummary> summaries = runs_as_asked(store, asked);
  EndsByGroup ends = ends_by_group(summaries, data.live);
  data.metrics = recorded_metrics(store, summaries, data.live);
  data.axes = axes_of(ends, std::ranges::all_of(summaries, [](const RunSummary& run) {
                        return simulates(run.driver);
                      }));
  data.detail = curve_detail(summaries.size(), ends.size(), data.metrics.size(), data.axes.size(),
                             !page_script().script.empty());
  std::vector<ReadRun> runs(summaries.size());
  CompareOptions compare;
  compare.at = options.at;
  read_in_parallel(
      store, summaries.size(), options.threads,
      [&](const Store& its_own, std::size_t k) {
        runs[k] = read_run(its_own, summaries[k], data, ends.at(summaries[k].group), compare);
      },
      options.progress);
  std::vector<ComparedRun> compared;
  for (ReadRun& run : runs) compared.push_back(std::move(run.compared));
  data.comparison = compare_read(store, std::move(compared), summaries, compare);
  name_runs(data, store, asked, summaries, options.where);
  judge_page(data, store, asked);
  for (const ComparedGroup& group : data.comparison.groups) gather_group(data, group, runs);
  drop_idle(data);
  for (ReadRun& run : runs) data.runs.push_back(std::move(run.detail));
  std::vector<std::string> labels;
  for (const ComparedGroup& group : data.comparison.groups) labels.push_back(group.label);
  data.styles = styles_of_labels(labels);
  add_group_facts(data, store);
  data.hosts = hosts_at_work(list_attempts(store, with_searched(store, summaries)));
  data.predictions = score_predictions(store, data.comparison);
  return data;
}

}  // namespace acid
