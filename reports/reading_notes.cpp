// Notes on where metrics are read, how exactly, and which have no value.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/compare.hpp"
#include "reports/compare_notes.hpp"
#include "reports/heading.hpp"
#include "reports/known_metrics.hpp"
#include "reports/readings.hpp"
#include "reports/targets.hpp"

namespace acid {
namespace {

/// Whether a note should say why the metric has no value.
bool is_looked_at(const CompareOptions& options, const std::string& metric) {
  if (options.metrics.empty()) return metric == "consensus_distance" || is_outcome(metric);
  return std::ranges::find(options.metrics, metric) != options.metrics.end();
}

template <class Predicate>
std::vector<std::string> metrics_that(const Comparison& comparison, Predicate predicate) {
  std::vector<std::string> metrics;
  std::ranges::copy_if(comparison.metrics, std::back_inserter(metrics), predicate);
  return metrics;
}

std::vector<std::string> labels_of(const Comparison& comparison,
                                   const std::vector<std::string>& groups) {
  std::vector<std::string> labels;
  for (const std::string& digest : groups)
    if (const std::string& label = group_of(comparison, digest).label;
        std::ranges::find(labels, label) == labels.end())
      labels.push_back(label);
  return labels;
}

std::vector<std::string> target_metrics(const Comparison& comparison) {
  return metrics_that(comparison, is_to_target);
}

/// Runs that ended before the place where metrics are read have none there.
void note_too_short(GroupNotes& notes, const std::vector<const ComparedRun*>& runs,
                    const ReadAt& place) {
  const auto ended = std::ranges::count_if(runs, &ComparedRun::ended_before);
  if (ended > 0)
    notes.add(NoteKind::ended_before,
              fmt::format("{}: {} of {} runs ended before {} and have no values there",
                          notes.name(), ended, runs.size(), place_of(place)));
}

/// Runs whose limit in seconds or bytes came before their first gradient show where they began.
void note_untrained(GroupNotes& notes, const std::vector<const ComparedRun*>& runs) {
  const auto untrained = std::ranges::count_if(runs, [](const ComparedRun* run) {
    return run->summary.budget_gradients > 0 && run->summary.progress.gradients == 0;
  });
  if (untrained > 0)
    notes.add(NoteKind::untrained, fmt::format("{}: {} of {} runs ended without a gradient",
                                               notes.name(), untrained, runs.size()));
}

/// Notes values that are too far from any sample, and those beside a sample that is not finite.
void note_not_read(GroupNotes& notes, const std::vector<const ComparedRun*>& runs,
                   const CompareOptions& options) {
  std::set<std::string> far;
  const ComparedRun* widest = nullptr;
  double apart = 0;
  std::size_t count = 0;
  for (const ComparedRun* run : runs) {
    std::vector<std::string> not_finite;
    bool any = false;
    for (const auto& [metric, gap] : run->not_read) {
      if (!is_looked_at(options, metric)) continue;
      if (!gap) not_finite.push_back(metric);
      if (!gap) continue;
      any = true;
      far.insert(metric);
      if (*gap > apart) widest = run;
      apart = std::max(apart, *gap);
    }
    count += any ? 1 : 0;
    if (!not_finite.empty())
      notes.add(NoteKind::not_finite,
                fmt::format("run {}: beside {} a sample is not finite, so nothing is read "
                            "between: {}",
                            run->summary.id, place_of(options.at), fmt::join(not_finite, ", ")),
                not_finite);
  }
  if (widest == nullptr) return;
  notes.add(
      NoteKind::not_read,
      fmt::format("{}: {} of {} runs have no {} at {}: {}", notes.name(), count, runs.size(),
                  fmt::join(far, ", "), place_of(options.at),
                  stale_words(options.at.axis, apart, widest->summary.id, widest->summary.seed)),
      {far.begin(), far.end()});
}

void note_where_read(Comparison& comparison) {
  const ReadAt& at = comparison.at;
  if (const std::string words = describe(at); !words.empty())
    comparison.notes.push_back(
        {NoteKind::where_read,
         at.kind == ReadAt::Kind::coordinate
             ? fmt::format("metrics are read {}, where those are no more than {} apart", words,
                           kWidestBracketWords)
             : "metrics are read " + words});
  const bool any_target = std::ranges::any_of(comparison.groups, [](const ComparedGroup& group) {
    return group.metrics.contains("time_to_target");
  });
  if (any_target)
    comparison.notes.push_back({NoteKind::target_line,
                                "a target is reached on the line between two samples, and known "
                                "to no more than these are apart",
                                {},
                                target_metrics(comparison)});
  std::vector<std::size_t> all;
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) all.push_back(g);
  for (const std::string& metric : comparison.metrics)
    if (const std::string words = reading_words(comparison, all, metric); !words.empty())
      comparison.notes.push_back(
          {NoteKind::resolution, fmt::format("{}: {}", metric, words), {}, {metric}});
}

/// The lowest train_loss is that of the method that communicates least.
void note_train_loss(Comparison& comparison) {
  if (std::ranges::find(comparison.metrics, "train_loss") != comparison.metrics.end())
    comparison.notes.push_back(
        {NoteKind::train_loss,
         "train_loss is each worker's loss on its own data at its own model, lowest where nobody "
         "communicates; train_loss_at_mean is of the mean model on all data",
         {},
         {"train_loss"}});
}

/// A small model's messages may cost what those of a large one would.
void note_stand_ins(Comparison& comparison) {
  std::map<std::string, std::vector<std::string>> groups;  // by words
  for (const ComparedGroup& group : comparison.groups)
    if (std::string words = stand_in_words(group.settings); !words.empty())
      groups[words].push_back(group.group);
  const std::vector<std::string> costs = metrics_that(comparison, [](const std::string& metric) {
    const Metric* const known = known_metric(metric);
    return has_unit(metric) || (known != nullptr && known->unit == "1/s");
  });
  if (costs.empty()) return;
  for (auto& [words, those] : groups) {
    std::string text = fmt::format(
        "bytes and seconds are {}, for which smaller models stand in simulated time", words);
    const bool all = those.size() == comparison.groups.size();
    if (!all) text += fmt::format(": {}", fmt::join(labels_of(comparison, those), ", "));
    comparison.notes.push_back({NoteKind::stand_in, std::move(text),
                                all ? std::vector<std::string>() : std::move(those), costs});
  }
}

/// Mean heights compare only where the curves are equally long.
void note_area(Comparison& comparison, const CompareOptions& options) {
  std::vector<std::string> areas = metrics_that(
      comparison, [](const std::string& metric) { return metric.starts_with("auc_"); });
  if (areas.empty()) return;
  const auto add = [&](std::string text) {
    comparison.notes.push_back({NoteKind::area, std::move(text), {}, areas});
  };
  if (options.at.kind == ReadAt::Kind::coordinate)
    return add(fmt::format("auc_*: mean height of the curve from 0 to {}", place_of(options.at)));
  std::int64_t shortest = 0, longest = 0;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      const std::int64_t end = run.progress.gradients;
      shortest = longest == 0 ? end : std::min(shortest, end);
      longest = std::max(longest, end);
    }
  add(shortest == longest
          ? fmt::format("auc_*: mean height of the curve from 0 to {} gradients", longest)
          : fmt::format("auc_*: mean height of the curve from 0 to each run's end, which is "
                        "between {0} and {1} gradients; --at gradients={0} gives all the same "
                        "range",
                        shortest, longest));
}

/// "AR-SGD eval_accuracy = 0.2, AD-PSGD eval_accuracy = 0.4"
std::string own_targets(const Comparison& comparison, const ComparedPoint& point) {
  std::vector<std::string> words;
  for (const std::size_t g : point.groups)
    if (const ComparedGroup& group = comparison.groups[g]; group.target)
      words.push_back(fmt::format("{} {}", group.label, target_text(*group.target)));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Notes numbers that are read at other places in runs than a reader may think.
void note_points_read(Comparison& comparison) {
  for (std::size_t p = 0; p < comparison.points.size(); ++p) {
    const ComparedPoint& point = comparison.points[p];
    const auto add = [&](NoteKind kind, std::string text, std::vector<std::string> metrics) {
      const std::string title = point_title(point);
      ComparedNote note{kind, (title.empty() ? "" : "at " + title + " ") + std::move(text)};
      for (const std::size_t g : point.groups) note.groups.push_back(comparison.groups[g].group);
      note.metrics = std::move(metrics);
      if (comparison.points.size() > 1) note.point = p;
      comparison.notes.push_back(std::move(note));
    };
    if (point.targets_differ)
      add(NoteKind::targets_differ,
          fmt::format("runs have different targets, so that nothing compares the ways to them: {}",
                      own_targets(comparison, point)),
          target_metrics(comparison));
    if (point.mid && point.mid->of_shortest && point.mid->to > 0)
      add(NoteKind::mid_span,
          fmt::format("runs ended at different places, so that {} is the mean from {} to {} in "
                      "each, 20-50 % of the shortest run's length",
                      kMidConsensus, format_on(point.mid->axis, point.mid->from),
                      format_on(point.mid->axis, point.mid->to)),
          {kMidConsensus});
  }
}

void note_target_reached(Comparison& comparison, const CompareOptions& options) {
  if (!options.target) return;
  std::size_t all = 0, there = 0;
  std::set<std::string> counted;  // runs of no graph are in the groups of all graphs
  for (const ComparedGroup& group : comparison.groups) {
    if (!counted.insert(group.runs_group).second) continue;
    all += group.outcomes();
    there += reached(group);
  }
  comparison.notes.push_back(
      {NoteKind::target_reached,
       fmt::format("{} of {} runs reached {}", there, all, target_text(*options.target)),
       {},
       target_metrics(comparison)});
}

}  // namespace

void note_readings(GroupNotes notes, const std::vector<ComparedRun>& all,
                   const CompareOptions& options) {
  const ComparedGroup& group = notes.group();
  std::vector<const ComparedRun*> runs;
  for (const ComparedRun& run : all)
    if (run.summary.group == group.runs_group && run.summary.state == RunState::finished)
      runs.push_back(&run);
  note_untrained(notes, runs);
  note_too_short(notes, runs, options.at);
  note_not_read(notes, runs, options);
  for (const auto& [metric, e] : group.metrics) {
    const auto explained = std::ranges::count_if(runs, [&, &name = metric](const ComparedRun* run) {
      return run->ended_before || run->not_read.contains(name);
    });
    if (!is_to_target(metric) && !is_at_equal_place(metric) &&
        e.n < static_cast<int>(group.runs.size()) - explained)
      notes.add(
          NoteKind::missing,
          fmt::format("{}: {} of {} runs have {}", notes.name(), e.n, group.runs.size(), metric),
          {metric});
  }
}

/// A mean over runs that reached a target is no mean over the group: it looks good for a method
/// that often fails.
void note_targets(Comparison& comparison) {
  struct Missed {
    std::string names;
    std::vector<std::string> groups;
  };
  std::map<std::string, Missed> none;  // by target
  bool some = false;
  for (std::size_t p = 0; p < comparison.points.size(); ++p)
    for (const std::size_t g : comparison.points[p].groups) {
      GroupNotes notes(comparison, p, g);
      const ComparedGroup& group = notes.group();
      const std::size_t all = group.outcomes(), missed = all - reached(group);
      if (!group.target || missed == 0) continue;
      const std::string words = target_text(*group.target);
      if (missed == all) {
        Missed& those = none[words];
        those.names += (those.names.empty() ? "" : "; ") + notes.name();
        those.groups.push_back(group.group);
        continue;
      }
      some = true;
      notes.add(NoteKind::target_missed,
                fmt::format("{}: {} of {} runs reached {}", notes.name(), all - missed, all, words),
                target_metrics(comparison));
    }
  for (const auto& [target, those] : none)
    comparison.notes.push_back({NoteKind::target_missed,
                                fmt::format("no run reached {}: {}", target, those.names),
                                those.groups, target_metrics(comparison)});
  if (some)
    comparison.notes.push_back(
        {NoteKind::target_order,
         "where not every run reached its target, when it was reached has no mean and no "
         "difference; medians and p count those that did not as later than any",
         {},
         target_metrics(comparison)});
}

void note_readings(Comparison& comparison, const CompareOptions& options) {
  note_area(comparison, options);
  note_train_loss(comparison);
  note_stand_ins(comparison);
  note_where_read(comparison);
  note_target_reached(comparison, options);
  note_points_read(comparison);
}

}  // namespace acid
