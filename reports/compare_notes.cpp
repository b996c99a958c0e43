#include "reports/compare_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/names.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/outcome_notes.hpp"
#include "reports/readings.hpp"
#include "reports/realised_rate.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr double kSignificance = ComparedDifference::kSignificance;

std::string where(const ComparedPoint& point) {
  return point.settings.empty() ? "" : fmt::format(" at {}", point_title(point));
}

std::vector<std::uint64_t> common_seeds(const ComparedGroup& a, const ComparedGroup& b) {
  const std::set<std::uint64_t> own = a.seeds(), other = b.seeds();
  std::vector<std::uint64_t> common;
  std::ranges::set_intersection(own, other, std::back_inserter(common));
  return common;
}

/// Pairs of seeds from which Holm's smallest p over so many differences, 1 or more, can be
/// significant.
int seeds_needed(std::size_t differences) {
  return static_cast<int>(
      std::ceil(std::log2(2.0 * static_cast<double>(differences) / kSignificance)));
}

void note_seeds(Comparison& comparison) {
  int smallest = 0;
  for (const ComparedPoint& point : comparison.points) {
    if (!point.baseline) continue;
    for (const std::size_t g : point.groups) {
      if (g == *point.baseline) continue;
      const int n = static_cast<int>(
          common_seeds(comparison.groups[g], comparison.groups[*point.baseline]).size());
      if (n > 0) smallest = smallest == 0 ? n : std::min(smallest, n);
    }
  }
  if (smallest == 1)
    comparison.notes.push_back(
        "n = 1: one seed has no interval and no p; what differs may be the seed alone");
  if (smallest < 2 || 2.0 / std::exp2(smallest) <= kSignificance) return;
  std::string note = fmt::format(
      "n = {} is too small to reach p = 0.05: the smallest p of the exact sign-flip test is {}; "
      "{} seeds could",
      smallest, format_number(2.0 / std::exp2(smallest)), seeds_needed(1));
  std::size_t most = 1;
  for (const ComparedDifference& difference : comparison.differences)
    if (comparison.primary.empty() || is_claim(comparison, difference.metric))
      most = std::max(most, static_cast<std::size_t>(difference.family));
  if (most > 1)
    note +=
        fmt::format(", {} after Holm's correction over {} differences", seeds_needed(most), most);
  comparison.notes.push_back(note);
}

std::string other_settings(const ComparedGroup& group, const ComparedGroup& baseline,
                           const std::set<std::string>& searched) {
  const FlatSettings own = flatten(group.settings), other = flatten(baseline.settings);
  std::string what;
  for (const std::string& key : varying_keys({&other, &own}))
    if (!is_algorithm_key(key) && !searched.contains(key))
      what += fmt::format("{}{} = {} (baseline {})", what.empty() ? "" : ", ", key,
                          value_text(value_at(own, key)), value_text(value_at(other, key)));
  return what;
}

void note_points(Comparison& comparison) {
  std::set<std::string> searched;  // said once for all
  for (const Selection& selection : comparison.selections) searched.merge(selection.keys());
  for (const ComparedPoint& point : comparison.points) {
    if (!point.baseline) {
      comparison.notes.push_back(
          fmt::format("no run of the baseline {}{}", comparison.baseline, where(point)));
      continue;
    }
    const ComparedGroup& baseline = comparison.groups[*point.baseline];
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      if (const std::string what = other_settings(group, baseline, searched); !what.empty())
        comparison.notes.push_back(fmt::format("{}{} also differs from its baseline in {}",
                                               group.label, where(point), what));
      if (group.outcomes() == 0 || baseline.outcomes() == 0 || group.seeds() == baseline.seeds())
        continue;
      const std::vector<std::uint64_t> common = common_seeds(group, baseline);
      comparison.notes.push_back(
          common.empty()
              ? fmt::format("{}{} has no seed in common with {}, so no difference to it",
                            group.label, where(point), baseline.label)
              : fmt::format(
                    "{}{}: differences to {} are over the {} that both have ({})", group.label,
                    where(point), baseline.label,
                    common.size() == 1 ? "one seed" : fmt::format("{} seeds", common.size()),
                    fmt::join(common, ", ")));
    }
  }
}

void note_outcomes(Comparison& comparison, const ComparedGroup& group, const std::string& at,
                   const std::vector<ComparedRun>& runs) {
  if (!group.diverged.empty())
    comparison.notes.push_back(fmt::format(
        "{}{}: {} of {} runs diverged (seed{} {}): worse than every finished run wherever order "
        "counts, in no mean, no target reached",
        group.label, at, group.diverged.size(), group.outcomes(),
        group.diverged.size() == 1 ? "" : "s", fmt::join(group.diverged, ", ")));
  if (group.unfinished == 0) return;
  std::map<std::string, std::vector<std::uint64_t>> seeds;  // by state
  for (const ComparedRun& run : runs) {
    const RunState state = run.summary.state;
    if (run.summary.group == group.runs_group && state != RunState::finished &&
        state != RunState::diverged)
      seeds[std::string(state_name(state))].push_back(run.summary.seed);
  }
  std::string what;
  for (const auto& [state, of] : seeds)
    what += fmt::format("{}{} {}: seed{} {}", what.empty() ? "" : "; ", of.size(), state,
                        of.size() == 1 ? "" : "s", fmt::join(of, ", "));
  comparison.notes.push_back(fmt::format(
      "{}{}: {} of {} runs are not in the numbers ({})", group.label, at, group.unfinished,
      static_cast<std::size_t>(group.unfinished) + group.outcomes(), what));
}

/// What the numbers of differences are, said once.
void note_tests(Comparison& comparison) {
  bool any = false, ranks = false, survivors = false;
  int family = 0;
  for (const ComparedDifference& difference : comparison.differences) {
    if (!difference.value.p) continue;
    any = true;
    ranks = ranks || difference.value.test == PairedTest::signed_rank;
    survivors = survivors || difference.diverged + difference.baseline_diverged > 0;
    if (difference.metric == comparison.primary) family = difference.family;
  }
  if (!any) return;
  std::string note = "p is of the exact two-sided sign-flip test, paired by seed";
  if (ranks)
    note +=
        " (of the signed-rank test where a run diverged or missed its target, or with more than 40 "
        "seeds)";
  note += ", adjusted by Holm over ";
  if (family > 0)
    note += fmt::format("the {} of {}{}", counted(family, "difference"), comparison.primary,
                        comparison.equal.empty() ? "" : ", wherever it is compared");
  note += fmt::format(
      "{}; the 95 % intervals of differences hold for all of a metric's at once (Bonferroni, "
      "Student's t)",
      family > 0 ? ", each other metric's over its own" : "all differences of its metric");
  comparison.notes.push_back(std::move(note));
  if (survivors)
    comparison.notes.push_back(
        "* mean over the seeds that finished in both; those that diverged are in p alone, and only "
        "where a metric has a better direction");
}

/// Of others nobody need know why they have no value.
bool is_looked_at(const CompareOptions& options, const std::string& metric) {
  if (options.metrics.empty()) return metric == "consensus_distance" || is_outcome(metric);
  return std::ranges::find(options.metrics, metric) != options.metrics.end();
}

/// Runs that ended before the place where metrics are read have none there.
void note_too_short(Comparison& comparison, const ComparedGroup& group, const std::string& at,
                    const std::vector<const ComparedRun*>& runs) {
  const auto ended = std::ranges::count_if(runs, &ComparedRun::ended_before);
  if (ended > 0)
    comparison.notes.push_back(
        fmt::format("{}{}: {} of {} runs ended before {} and have no values there", group.label, at,
                    ended, runs.size(), place_of(comparison.at)));
}

/// Values that would have to be taken from far away, and those beside a sample that is not finite.
void note_not_read(Comparison& comparison, const ComparedGroup& group, const std::string& at,
                   const std::vector<const ComparedRun*>& runs, const CompareOptions& options) {
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
      comparison.notes.push_back(
          fmt::format("run {}: beside {} a sample is not finite, so nothing is read between: {}",
                      run->summary.id, place_of(comparison.at), fmt::join(not_finite, ", ")));
  }
  if (widest == nullptr) return;
  comparison.notes.push_back(fmt::format(
      "{}{}: {} of {} runs have no {} at {}: {}", group.label, at, count, runs.size(),
      fmt::join(far, ", "), place_of(comparison.at),
      stale_words(comparison.at.axis, apart, widest->summary.id, widest->summary.seed)));
}

void note_missing(Comparison& comparison, const ComparedGroup& group, const std::string& at,
                  const std::vector<ComparedRun>& all, const CompareOptions& options) {
  std::vector<const ComparedRun*> runs;
  for (const ComparedRun& run : all)
    if (run.summary.group == group.group && run.summary.state == RunState::finished)
      runs.push_back(&run);
  note_too_short(comparison, group, at, runs);
  note_not_read(comparison, group, at, runs, options);
  for (const auto& [metric, e] : group.metrics) {
    const auto explained = std::ranges::count_if(runs, [&, &name = metric](const ComparedRun* run) {
      return run->ended_before || run->not_read.contains(name);
    });
    if (!is_to_target(metric) && !is_at_equal_place(metric) &&
        e.n < static_cast<int>(group.runs.size()) - explained)
      comparison.notes.push_back(fmt::format("{}{}: {} of {} runs have {}", group.label, at, e.n,
                                             group.runs.size(), metric));
  }
}

/// A mean over those that reached a target is no mean over the group: it looks good on a method
/// that often fails.
void note_targets(Comparison& comparison, const CompareOptions& options) {
  std::map<std::string, std::string> none;  // groups by target
  bool some = false;
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      const auto target = target_of(group.settings, options.target);
      const std::size_t all = group.outcomes();
      const auto missed = static_cast<std::size_t>(censored(group, "gradients_to_target"));
      if (!target || missed == 0) continue;
      const std::string name = group.label + where(point);
      const std::string words =
          fmt::format("{} = {}", target->metric, format_number(target->value, 6));
      if (missed == all) {
        std::string& names = none[words];
        names += (names.empty() ? "" : "; ") + name;
        continue;
      }
      some = true;
      comparison.notes.push_back(
          fmt::format("{}: {} of {} runs reached {}", name, all - missed, all, words));
    }
  for (const auto& [target, names] : none)
    comparison.notes.push_back(fmt::format("no run reached {}: {}", target, names));
  if (some)
    comparison.notes.push_back(
        "where not every run reached its target, when it was reached has no mean and no "
        "difference; "
        "medians and p count those that did not as later than any");
}

void note_target_reached(Comparison& comparison, const CompareOptions& options) {
  if (!options.target) return;
  std::size_t all = 0, reached = 0;
  for (const ComparedGroup& group : comparison.groups) {
    all += group.outcomes();
    reached += group.outcomes() - static_cast<std::size_t>(censored(group, "gradients_to_target"));
  }
  comparison.notes.push_back(fmt::format("{} of {} runs reached {} = {}", reached, all,
                                         options.target->metric,
                                         format_number(options.target->value, 6)));
}

/// A method that ran at another rate is another method.
void note_rate(Comparison& comparison, const ComparedGroup& group, const std::string& at,
               const std::vector<ComparedRun>& runs) {
  double sum = 0, gradients = 0;
  int count = 0;
  for (const ComparedRun& run : runs)
    if (run.summary.group == group.runs_group && run.realised_rate) {
      sum += *run.realised_rate;
      gradients += static_cast<double>(run.summary.progress.gradients);
      ++count;
    }
  if (count == 0) return;
  if (const auto doubt =
          rate_doubt(nominal_rate(group.settings).value_or(0), sum / count, gradients))
    comparison.notes.push_back(fmt::format("{}{}: {}", group.label, at, *doubt));
}

void note_where_read(Comparison& comparison) {
  const ReadAt& at = comparison.at;
  if (const std::string words = describe(at); !words.empty())
    comparison.notes.push_back(
        at.kind == ReadAt::Kind::coordinate
            ? fmt::format("metrics are read {}, where those are no more than {} apart", words,
                          kWidestBracketWords)
            : "metrics are read " + words);
  const bool any_target = std::ranges::any_of(comparison.groups, [](const ComparedGroup& group) {
    return group.metrics.contains("time_to_target");
  });
  if (any_target)
    comparison.notes.push_back(
        "a target is reached on the line between two samples, and known to no more than these are "
        "apart");
}

/// The lowest train_loss is of whoever communicates least.
void note_train_loss(Comparison& comparison) {
  if (std::ranges::find(comparison.metrics, "train_loss") != comparison.metrics.end())
    comparison.notes.emplace_back(
        "train_loss is each worker's loss on its own data at its own model, lowest where nobody "
        "communicates; train_loss_at_mean is of the mean model on all data");
}

/// Mean heights compare only where the curves are equally long.
void note_area(Comparison& comparison, const CompareOptions& options) {
  const bool any = std::ranges::any_of(
      comparison.metrics, [](const std::string& metric) { return metric.starts_with("auc_"); });
  if (!any) return;
  if (options.at.kind == ReadAt::Kind::coordinate) {
    comparison.notes.push_back(
        fmt::format("auc_*: mean height of the curve from 0 to {}", place_of(options.at)));
    return;
  }
  std::int64_t shortest = 0, longest = 0;
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      const std::int64_t end = run.progress.gradients;
      shortest = longest == 0 ? end : std::min(shortest, end);
      longest = std::max(longest, end);
    }
  comparison.notes.push_back(
      shortest == longest
          ? fmt::format("auc_*: mean height of the curve from 0 to {} gradients", longest)
          : fmt::format(
                "auc_*: mean height of the curve from 0 to each run's end, which is between "
                "{0} and {1} gradients; --at gradients={0} gives all the same range",
                shortest, longest));
}

}  // namespace

double end_on(PositionAxis axis, const RunSummary& run, const nlohmann::json& settings) {
  constexpr double kSlack = 1e-9;
  double end = coordinate(run.progress, axis);
  const bool timed_out =
      run.progress.gradients < run.budget_gradients && !run.message.starts_with("target reached");
  const nlohmann::json::json_pointer limit("/budget/seconds");
  if (axis == PositionAxis::seconds && timed_out && settings.contains(limit) &&
      settings.at(limit).is_number())
    end = std::max(end, settings.at(limit).get<double>());
  return end * (1 + kSlack);
}

std::optional<Target> target_of(const nlohmann::json& settings,
                                const std::optional<Target>& asked) {
  if (asked) return asked;
  const nlohmann::json::json_pointer place("/budget/target");
  if (!settings.contains(place) || !settings.at(place).is_object()) return std::nullopt;
  const nlohmann::json& target = settings.at(place);
  return Target{target.value("metric", std::string()), target.value("value", 0.0)};
}

void add_notes(Comparison& comparison, const std::vector<ComparedRun>& runs,
               const CompareOptions& options) {
  for (const Selection& selection : comparison.selections)
    for (std::string& note : selection_notes(selection))
      comparison.notes.push_back(std::move(note));
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      note_outcomes(comparison, group, where(point), runs);
      note_missing(comparison, group, where(point), runs, options);
      note_rate(comparison, group, where(point), runs);
    }
  note_targets(comparison, options);
  note_points(comparison);
  if (const std::string rates = different_rates(comparison); !rates.empty())
    comparison.notes.push_back("exchanges per gradient differ too: " + rates);
  note_seeds(comparison);
  note_outcome(comparison);
  note_tests(comparison);
  note_area(comparison, options);
  note_train_loss(comparison);
  note_where_read(comparison);
  note_target_reached(comparison, options);
}

}  // namespace acid
