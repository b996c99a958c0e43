// The tests where all runs have come equally far, in words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/equal_places.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/primary.hpp"
#include "reports/readings.hpp"
#include "reports/settings.hpp"
#include "reports/targets.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

/// Values that no test can distinguish, in words.
std::string same_words(const ComparedDifference& difference) {
  if (difference.both_missed == 0) return "the same, to rounding";
  const bool all = difference.both_missed == difference.value.pairs;
  if (!is_to_target(difference.metric))
    return all ? "none, since both diverged"
               : "the same, to rounding, where both finished, and both diverged alike";
  return all ? "none, since neither reached it"
             : "the same, to rounding, where both reached it, and both missed it alike";
}

/// "A²CiD² 0.755 [0.66, 0.85], better, p = 0.012".
std::string told_of(const Comparison& comparison, const ComparedDifference& difference) {
  const std::string& label = group_of(comparison, difference.group).label;
  const Estimate& e = difference.simultaneous;
  const Judgement judgement = judge(difference);
  if (judgement == Judgement::equal) return fmt::format("{} {}", label, same_words(difference));
  const std::string open =
      "not told apart" +
      (difference.p_holm ? fmt::format(", p = {}", format_p(difference.p_holm)) : "");
  std::string words =
      fmt::format("{} {}, {}", label, e.n > 0 ? with_interval(difference.metric, e) : "unknown",
                  judgement != Judgement::not_shown ? verdict_with_p(difference)
                  : difference.is_hidden()          ? "less than lines between samples may be off"
                                                    : open);
  if (difference.diverged + difference.baseline_diverged > 0)
    words += fmt::format(" ({} of {} seeds diverged with it, {} with the baseline)",
                         difference.diverged, difference.value.pairs, difference.baseline_diverged);
  return words;
}

std::size_t index_of(const Comparison& comparison, const ComparedPoint& point) {
  return static_cast<std::size_t>(&point - comparison.points.data());
}

/// "AR-SGD in 10 of 10 runs", for every group of the point.
std::string reached_words(const Comparison& comparison, const ComparedPoint& point,
                          const std::string& metric) {
  std::vector<std::string> words;
  for (const std::size_t g : point.groups)
    words.push_back(fmt::format("{} in {} runs", comparison.groups[g].label,
                                reached_cell(comparison.groups[g], metric)));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// When the target was reached, a sentence for each axis. The ends of runs are another question, so
/// these have families of their own.
std::vector<std::string> target_sentences(const Comparison& comparison,
                                          const ComparedPoint& point) {
  const ComparedGroup& baseline = comparison.groups[*point.baseline];
  std::vector<std::string> sentences;
  if (!baseline.target) return sentences;
  const std::string value = target_text(*baseline.target);
  for (const PositionAxis axis : kEqualAxes) {
    const std::string metric = fmt::format("{}_to_target", name_of(axis));
    std::vector<std::string> told;
    int family = 0;
    bool all_reached = censored(baseline, metric) == 0;
    for (const std::size_t g : point.groups) {
      const auto* one = find_difference(comparison, comparison.groups[g].group, metric);
      if (one == nullptr) continue;
      all_reached = all_reached && censored(comparison.groups[g], metric) == 0;
      family = one->family;
      told.push_back(told_of(comparison, *one));
    }
    if (told.empty()) continue;
    if (sentences.empty() && !all_reached)
      sentences.push_back(fmt::format("{} was reached by {}; who missed it is later than any.",
                                      value, reached_words(comparison, point, metric)));
    if (metric == comparison.primary) continue;  // the verdict is about it
    sentences.push_back(fmt::format(
        "To {}, difference in {} to {} (Holm over {} of their own): {}.", value, name_of(axis),
        baseline.label, counted(family, "comparison"), fmt::join(told, "; ")));
  }
  return sentences;
}

}  // namespace

std::string doubt_of(const Comparison& comparison, const EqualPlace& place) {
  if (place.place <= 0) return fmt::format(": a run came to 0 {} only", unit_of(place.axis));
  std::vector<std::string> labels;
  const EqualPlace::Stale* widest = &place.stale.front();
  for (const EqualPlace::Stale& stale : place.stale) {
    labels.push_back(comparison.groups[stale.group].label);
    if (stale.apart > widest->apart) widest = &stale;
  }
  std::string remedy = "a finer cadence in [evaluation] would tell";
  if (place.axis == PositionAxis::seconds) {
    const double enough = place.place / 10;
    const double now =
        number_at(comparison.groups[widest->group].settings, "/evaluation/every_seconds", INFINITY);
    remedy =
        now <= enough
            ? "they are asked for more often already, and none falls between its gradients"
            : fmt::format("evaluation.every_seconds = {} would tell", format_number(enough, 1));
  }
  return fmt::format(" of {} at {}: {}; {}", fmt::join(labels, ", "),
                     format_on(place.axis, place.place),
                     stale_words(place.axis, widest->apart, widest->run, widest->seed), remedy);
}

std::vector<std::string> equal_sentences(const Comparison& comparison, const ComparedPoint& point) {
  std::vector<std::string> sentences;
  if (!point.baseline) return sentences;
  for (const EqualPlace& place : comparison.equal) {
    if (place.at_end || place.point != index_of(comparison, point)) continue;
    std::vector<std::string> told;
    for (const std::size_t g : point.groups)
      if (const auto* one = find_difference(comparison, comparison.groups[g].group, place.metric))
        told.push_back(told_of(comparison, *one));
    if (told.empty()) continue;
    sentences.push_back(
        fmt::format("At equal {} ({}), difference in {} to {}: {}.", equal_words(place.axis),
                    format_on(place.axis, place.place), words_of(comparison.primary),
                    comparison.groups[*point.baseline].label, fmt::join(told, "; ")));
  }
  for (std::string& sentence : target_sentences(comparison, point))
    sentences.push_back(std::move(sentence));
  return sentences;
}

std::vector<std::string> equal_doubts(const Comparison& comparison) {
  std::vector<std::string> doubts;
  for (const PositionAxis axis : kEqualAxes) {
    const EqualPlace* first = nullptr;
    std::size_t silent = 0;
    for (const EqualPlace& place : comparison.equal) {
      if (place.axis != axis || place.at_end) continue;
      if (place.place > 0 && place.stale.empty()) continue;
      if (first == nullptr) first = &place;
      ++silent;
    }
    if (first == nullptr) continue;
    const std::string where =
        comparison.points.size() == 1
            ? ""
            : fmt::format(", at {} of {} settings,", silent, comparison.points.size());
    doubts.push_back(fmt::format("At equal {}{} nothing is said{}.", equal_words(axis), where,
                                 doubt_of(comparison, *first)));
  }
  return doubts;
}

std::string end_words(const Comparison& comparison, const ComparedPoint& point) {
  const std::size_t p = index_of(comparison, point);
  std::vector<std::string> same;
  bool other = false;
  for (const EqualPlace& place : comparison.equal) {
    if (place.point != p) continue;
    if (!place.at_end)
      other = true;
    else if (place.place > 0)
      same.emplace_back(equal_words(place.axis));
  }
  if (!other) return "";
  return same.empty() ? " at the end of each run"
                      : fmt::format(" at equal {}", fmt::join(same, " and "));
}

}  // namespace acid
