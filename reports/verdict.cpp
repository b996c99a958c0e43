#include "reports/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"

namespace acid {
namespace {

std::string interval(const Estimate& e) {
  if (!e.ci_low) return with_minus(format_number(e.mean, 3));
  return with_minus(fmt::format("{} [{}, {}]", format_number(e.mean, 3),
                                format_number(*e.ci_low, 3), format_number(*e.ci_high, 3)));
}

std::string test_text(const ComparedDifference& difference) {
  return fmt::format("exact {} p (Holm over {}) = {}", name_of(difference.value.test),
                     counted(static_cast<std::size_t>(difference.family), "comparison"),
                     format_p(difference.p_holm));
}

/// What no mean of differences can hold; empty where every run finished.
std::string divergence(const std::string& label, const std::string& baseline,
                       const ComparedDifference& difference) {
  if (difference.diverged + difference.baseline_diverged == 0) return "";
  return fmt::format("{} of {} seeds diverged with {}, {} with {}", difference.diverged,
                     difference.value.pairs, label, difference.baseline_diverged, baseline);
}

std::string estimate_text(const ComparedDifference& difference) {
  const Estimate& e = difference.simultaneous;
  if (e.n == 0) return "unknown, since no seed finished in both";
  return fmt::format("{} over {}", interval(e),
                     e.n == difference.value.pairs
                         ? counted(static_cast<std::size_t>(e.n), "paired seed")
                         : fmt::format("the {} of {} paired seeds that finished in both", e.n,
                                       difference.value.pairs));
}

std::string shown_sentence(const std::string& label, const std::string& baseline,
                           const std::string& words, const ComparedDifference& difference) {
  const bool better = judge(difference) == Judgement::better;
  const std::string lost = divergence(label, baseline, difference);
  // Beyond 40 seeds the test is of ranks, whose sign the mean need not have.
  const bool mean_agrees = difference.value.difference.mean * difference.value.sign > 0;
  if (lost.empty() && !mean_agrees)
    return fmt::format(
        "{} did {} than {} in {}, by the ranks of the differences; their mean is {}, {}.", label,
        better ? "better" : "worse", baseline, words, estimate_text(difference),
        test_text(difference));
  if (!lost.empty())
    return fmt::format("{} did {} than {} in {}: {}; {}.", label, better ? "better" : "worse",
                       baseline, words, lost, test_text(difference));
  return fmt::format("{} had {} {} than {} ({}): {}, {}.", label,
                     difference.value.sign > 0 ? "higher" : "lower", words, baseline,
                     better ? "better" : "worse", estimate_text(difference), test_text(difference));
}

std::string difference_sentence(const std::string& label, const std::string& baseline,
                                const ComparedDifference& difference) {
  const std::string words = words_of(difference.metric);
  const std::string lost = divergence(label, baseline, difference);
  const std::string but = lost.empty() ? "" : "; " + lost;
  switch (judge(difference)) {
    case Judgement::better:
    case Judgement::worse:
      return shown_sentence(label, baseline, words, difference);
    case Judgement::equal:
      if (difference.value.difference.n == 0)
        return fmt::format(
            "{} and {} diverged alike, with each of {}.", label, baseline,
            counted(static_cast<std::size_t>(difference.value.pairs), "paired seed"));
      return fmt::format(
          "{} and {} had the same {}, to rounding, with each of {} that finished{}.", label,
          baseline, words,
          counted(static_cast<std::size_t>(difference.value.difference.n), "paired seed"), but);
    case Judgement::too_few_seeds:
      return fmt::format(
          "Too few seeds to tell {} from {} in {}, whatever they show: the smallest p (Holm over "
          "{}) they could give is {}. The difference is {}{}{}.",
          label, baseline, words,
          counted(static_cast<std::size_t>(difference.family), "comparison"),
          format_p(difference.smallest_p_holm), estimate_text(difference), but,
          more_seeds_words(difference));
    case Judgement::not_shown:
      break;
  }
  if (!difference.p_holm)
    return fmt::format("{} and {} were not tested in {}: {}{}.", label, baseline, words,
                       difference.value.pairs == 1
                           ? "one seed cannot tell a difference from chance; it was " +
                                 interval(difference.simultaneous)
                           : "a value is not a number",
                       but);
  return fmt::format("No difference in {} between {} and {} was shown: {}, {}{}{}.", words, label,
                     baseline, estimate_text(difference), test_text(difference), but,
                     more_seeds_words(difference));
}

std::string ratio_sentence(const Comparison& comparison, const std::string& label,
                           const ComparedRatio& ratio) {
  const PairedRatio& value = ratio.value;
  return fmt::format(
      "Mid-run, the consensus distance of {} was {} × that of {} ({}; an estimate, not a test).",
      label, with_minus(format_ratio(value)), group_of(comparison, ratio.reference).label,
      value.ci_low ? fmt::format("geometric mean over {} paired seeds{}, 95 % interval", value.n,
                                 ratio.diverged == 0 ? ""
                                                     : fmt::format(" of {} that finished in both",
                                                                   value.n + ratio.diverged))
                   : "from one seed");
}

std::string speed_sentence(const ComparedGroup& group, const ComparedGroup& baseline) {
  const auto mine = group.metrics.find("gradients_per_second");
  const auto theirs = baseline.metrics.find("gradients_per_second");
  if (mine == group.metrics.end() || theirs == baseline.metrics.end()) return "";
  if (!(theirs->second.mean > 0)) return "";
  const std::string ratio = format_number(mine->second.mean / theirs->second.mean, 3);
  if (ratio == "1") return "";
  const bool all = group.diverged.empty() && baseline.diverged.empty();
  return fmt::format("{} computed {} × as many gradients per second as {}{}.", group.label, ratio,
                     baseline.label, all ? "" : ", where runs finished");
}

std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : " ") + second;
}

std::string diverged_text(const Comparison& comparison, const ComparedPoint& point) {
  std::vector<std::string> list;
  for (const std::size_t g : point.groups)
    if (const ComparedGroup& group = comparison.groups[g]; !group.diverged.empty())
      list.push_back(
          fmt::format("{} {} of {}", group.label, group.diverged.size(), group.outcomes()));
  return list.empty() ? "" : fmt::format("Diverged: {}.", fmt::join(list, ", "));
}

}  // namespace

std::string words_of(std::string_view metric) {
  return std::string(std::ranges::find(kOutcomes, metric, &OutcomeMetric::name)->words);
}

Judgement judge(const ComparedDifference& difference) {
  constexpr double kLargest = ComparedDifference::kSignificance;
  const PairedDifference& value = difference.value;
  if (difference.p_holm && *difference.p_holm <= kLargest && value.sign != 0)
    return value.sign == better_direction(difference.metric) ? Judgement::better : Judgement::worse;
  if (value.pairs > 1 && value.p && value.unequal == 0) return Judgement::equal;
  const bool too_few = difference.smallest_p_holm && *difference.smallest_p_holm > kLargest;
  return too_few ? Judgement::too_few_seeds : Judgement::not_shown;
}

std::string_view name_of(Judgement judgement) {
  switch (judgement) {
    case Judgement::better:
      return "better";
    case Judgement::worse:
      return "worse";
    case Judgement::not_shown:
      return "not shown";
    case Judgement::too_few_seeds:
      return "too few seeds";
    case Judgement::equal:
      return "equal";
  }
  return {};
}

std::vector<std::string> verdict_sentences(const Comparison& comparison,
                                           const ComparedPoint& point) {
  std::vector<std::string> sentences;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    if (point.baseline && g != *point.baseline) {
      const ComparedGroup& baseline = comparison.groups[*point.baseline];
      if (const auto* one = find_difference(comparison, group.group, comparison.primary))
        sentences.push_back(difference_sentence(group.label, baseline.label, *one));
      if (auto speed = speed_sentence(group, baseline); !speed.empty())
        sentences.push_back(std::move(speed));
    }
    if (const auto* ratio = find_ratio(comparison, group.group, kMidConsensus))
      sentences.push_back(ratio_sentence(comparison, group.label, *ratio));
  }
  for (std::string& sentence : equal_sentences(comparison, point))
    sentences.push_back(std::move(sentence));
  return sentences;
}

std::vector<std::string> verdict_sentences(const Comparison& comparison) {
  std::vector<std::string> all;
  for (const ComparedPoint& point : comparison.points) {
    const std::string at = point.settings.empty() ? "" : point_title(point) + ": ";
    for (const std::string& sentence : verdict_sentences(comparison, point))
      all.push_back(at + sentence);
  }
  for (std::string& doubt : equal_doubts(comparison)) all.push_back(std::move(doubt));
  return all;
}

Headline headline(const Comparison& comparison, const ComparedPoint& point) {
  if (!point.baseline || comparison.primary.empty()) return {};
  std::vector<std::string> better, worse, open;
  bool too_few = false, all_equal = true;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto* const one = find_difference(comparison, group.group, comparison.primary);
    if (one == nullptr) continue;
    const Judgement judgement = judge(*one);
    all_equal =
        all_equal && judgement == Judgement::equal && one->diverged + one->baseline_diverged == 0;
    too_few = too_few || judgement == Judgement::too_few_seeds || one->value.pairs == 1;
    (judgement == Judgement::better  ? better
     : judgement == Judgement::worse ? worse
                                     : open)
        .push_back(group.label);
  }
  if (better.empty() && worse.empty() && open.empty()) return {};
  const std::string words = words_of(comparison.primary) + end_words(comparison, point);
  const std::string& baseline = comparison.groups[*point.baseline].label;
  const auto told = [&](const char* how, const std::vector<std::string>& labels) {
    return fmt::format("{} than {} in {}: {}.", how, baseline, words, fmt::join(labels, ", "));
  };
  const std::string lost = diverged_text(comparison, point);
  if (!better.empty()) {
    std::string rest = worse.empty() ? "" : told("Worse", worse);
    if (!open.empty())
      rest += fmt::format("{}Not told apart from it: {}.", rest.empty() ? "" : " ",
                          fmt::join(open, ", "));
    return {told("Better", better), joined(rest, lost)};
  }
  if (!worse.empty())
    return {told("Worse", worse),
            joined(open.empty() ? ""
                                : fmt::format("Not told apart from it: {}.", fmt::join(open, ", ")),
                   lost)};
  if (all_equal) return {fmt::format("All had the same {}, to rounding.", words), lost};
  return {fmt::format("No difference in {} to {} was shown.", words, baseline),
          joined(too_few ? "Too few seeds to show one." : "", lost)};
}

}  // namespace acid
