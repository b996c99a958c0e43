#include "reports/verdict.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/compare_formats.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"
#include "reports/primary.hpp"

namespace acid {

std::string with_interval(const std::string& metric, const Estimate& e) {
  const auto number = [&](double value) {
    return is_to_target(metric) ? format_metric_value(metric, value) : format_number(value, 3);
  };
  if (!e.ci_low) return with_minus(number(e.mean));
  return with_minus(
      fmt::format("{} [{}, {}]", number(e.mean), number(*e.ci_low), number(*e.ci_high)));
}

namespace {

std::string test_text(const ComparedDifference& difference) {
  return fmt::format("exact {} p (Holm over {}) = {}", name_of(difference.value.test),
                     counted(difference.family, "comparison"), format_p(difference.p_holm));
}

/// Words on divergence, which no mean of differences can hold; empty if every run finished.
std::string divergence(const std::string& label, const std::string& baseline,
                       const ComparedDifference& difference) {
  if (difference.diverged + difference.baseline_diverged == 0) return "";
  return fmt::format("{} of {} seeds diverged with {}, {} with {}", difference.diverged,
                     difference.value.pairs, label, difference.baseline_diverged, baseline);
}

std::string estimate_text(const ComparedDifference& difference) {
  const Estimate& e = difference.simultaneous;
  if (e.n == 0)
    return is_to_target(difference.metric) ? "without a mean, since not every run got there"
                                           : "unknown, since no seed finished in both";
  return fmt::format("{} over {}", with_interval(difference.metric, e),
                     e.n == difference.value.pairs
                         ? counted(e.n, "paired seed")
                         : fmt::format("the {} of {} paired seeds that finished in both", e.n,
                                       difference.value.pairs));
}

/// "fewer" for metrics that can be counted.
const char* less_of(std::string_view metric) {
  return metric.starts_with("gradients") || metric.starts_with("bytes") ? "fewer" : "less";
}

std::string shown_sentence(const std::string& label, const std::string& baseline,
                           const std::string& words, const ComparedDifference& difference) {
  const bool better = judge(difference) == Judgement::better;
  const std::string lost = divergence(label, baseline, difference);
  // Beyond 40 seeds the test is of ranks, and the mean may have another sign.
  const Estimate& e = difference.value.difference;
  const bool mean_agrees = e.n == 0 || e.mean * difference.value.sign > 0;
  if (lost.empty() && !mean_agrees)
    return fmt::format(
        "{} did {} than {} in {}, by the ranks of the differences; their mean is {}, {}.", label,
        better ? "better" : "worse", baseline, words, estimate_text(difference),
        test_text(difference));
  if (!lost.empty())
    return fmt::format("{} did {} than {} in {}: {}; {}.", label, better ? "better" : "worse",
                       baseline, words, lost, test_text(difference));
  if (is_to_target(difference.metric))
    return fmt::format("{} took {} {} than {} ({}): {}, {}.", label,
                       difference.value.sign > 0 ? "more" : less_of(difference.metric), words,
                       baseline, better ? "better" : "worse", estimate_text(difference),
                       test_text(difference));
  return fmt::format("{} had {} {} than {} ({}): {}, {}.", label,
                     difference.value.sign > 0 ? "higher" : "lower", words, baseline,
                     better ? "better" : "worse", estimate_text(difference), test_text(difference));
}

/// ", 3e-06 of the value,"; empty if the floor is larger than the value.
std::string share_text(const ComparedDifference& difference) {
  if (difference.rounding_share >= 1) return "";
  return fmt::format(", {} of the value,", format_number(difference.rounding_share, 2));
}

/// " (differences up to 2.1e-07 are, 3e-06 of the value)"; empty if the values are identical.
std::string floor_text(const ComparedDifference& difference) {
  if (difference.value.rounded == 0) return "";
  return fmt::format(" (differences up to {}{} are rounding)",
                     format_number(difference.rounding, 2), share_text(difference));
}

std::string difference_sentence(const std::string& label, const std::string& baseline,
                                const std::string& words, const ComparedDifference& difference) {
  const std::string lost = divergence(label, baseline, difference);
  const std::string but = lost.empty() ? "" : "; " + lost;
  switch (judge(difference)) {
    case Judgement::better:
    case Judgement::worse:
      return shown_sentence(label, baseline, words, difference) + within_margin(difference);
    case Judgement::equivalent:
      return equivalent_sentence(label, baseline, estimate_text(difference), difference);
    case Judgement::equal:
      if (difference.value.difference.n == 0 && difference.both_missed < difference.value.pairs)
        return fmt::format(
            "{} and {} took the same {}, to rounding{}, with each of {} that reached the target in "
            "both, and missed it alike with {}.",
            label, baseline, words, floor_text(difference),
            counted(difference.value.pairs - difference.both_missed, "paired seed"),
            difference.both_missed);
      if (difference.value.difference.n == 0)
        return fmt::format("{} and {} {} alike, with each of {}{}.", label, baseline,
                           is_to_target(difference.metric) ? "missed the target" : "diverged",
                           counted(difference.value.pairs, "paired seed"),
                           is_to_target(difference.metric) ? "" : ", and have no " + words);
      return fmt::format(
          "{} and {} had the same {}, to rounding{}, with each of {} that finished{}.", label,
          baseline, words, floor_text(difference),
          counted(difference.value.difference.n, "paired seed"), but);
    case Judgement::too_few_seeds:
      return fmt::format(
          "Too few seeds to tell {} from {} in {}, whatever they show: the smallest p (Holm over "
          "{}) they could give is {}. The difference is {}{}{}.",
          label, baseline, words, counted(difference.family, "comparison"),
          format_p(difference.smallest_p_holm), estimate_text(difference), but,
          ties_words(difference) + more_seeds_words(difference) + not_equivalent_words(difference));
    case Judgement::not_shown:
      break;
  }
  if (!difference.p_holm)
    return fmt::format("{} and {} were not tested in {}: {}{}.", label, baseline, words,
                       difference.value.pairs == 1
                           ? "one seed cannot tell a difference from chance; it was " +
                                 with_interval(difference.metric, difference.simultaneous)
                           : "a value is not a number",
                       but);
  return fmt::format("No difference in {} between {} and {} was shown: {}, {}{}{}.", words, label,
                     baseline, estimate_text(difference), test_text(difference),
                     not_shown_words(difference), but);
}

/// A group's difference to its baseline.
std::string sentence_on(const Comparison& comparison, const ComparedGroup& group,
                        const ComparedDifference& difference) {
  return difference_sentence(group.label, group_of(comparison, difference.baseline).label,
                             words_of(group, difference.metric), difference);
}

/// The result of the test of consensus distances, after the ratio; an estimate has none.
std::string consensus_test(const ComparedDifference* difference) {
  if (difference == nullptr) return "; an estimate, not a test";
  switch (judge(*difference)) {
    case Judgement::better:
    case Judgement::worse:
      return fmt::format("; {}, {}", verdict_of(*difference), test_text(*difference));
    case Judgement::equivalent:
      return "; " + verdict_with_p(*difference);
    case Judgement::equal:
      return "; the same, to rounding";
    case Judgement::too_few_seeds:
      return "; too few seeds for a test" + more_seeds_words(*difference);
    case Judgement::not_shown:
      break;
  }
  return fmt::format("; no difference was shown, {}{}", test_text(*difference),
                     more_seeds_words(*difference));
}

/// The test of the same pair; nullptr if the verdict is about it, or there is none.
const ComparedDifference* consensus_tested(const Comparison& comparison,
                                           const ComparedRatio& ratio) {
  const auto* const tested = find_difference(comparison, ratio.group, kMidConsensus);
  if (tested == nullptr || tested->baseline != ratio.reference || !tested->p_holm) return nullptr;
  return tested->metric == comparison.primary ? nullptr : tested;
}

std::string ratio_sentence(const Comparison& comparison, const std::string& label,
                           const ComparedRatio& ratio) {
  const PairedRatio& value = ratio.value;
  return fmt::format(
      "Mid-run, the consensus distance of {} was {} × that of {} ({}{}).", label,
      with_minus(format_ratio(value)), group_of(comparison, ratio.reference).label,
      value.ci_low ? fmt::format("geometric mean over {} paired seeds{}, 95 % interval", value.n,
                                 ratio.diverged == 0 ? ""
                                                     : fmt::format(" of {} that finished in both",
                                                                   value.n + ratio.diverged))
                   : "from one seed",
      consensus_test(consensus_tested(comparison, ratio)));
}

/// If runs diverged there is no ratio, and only the test says something.
std::string consensus_sentence(const Comparison& comparison, const ComparedGroup& group) {
  if (const auto* ratio = find_ratio(comparison, group.group, kMidConsensus))
    return ratio_sentence(comparison, group.label, *ratio);
  const auto* const tested = find_difference(comparison, group.group, kMidConsensus);
  if (tested == nullptr || !tested->p_holm || comparison.primary == kMidConsensus) return "";
  return sentence_on(comparison, group, *tested);
}

std::string speed_sentence(const ComparedGroup& group, const ComparedGroup& baseline) {
  const Estimate mine = group.estimate_of("gradients_per_second"),
                 theirs = baseline.estimate_of("gradients_per_second");
  if (mine.n == 0 || theirs.n == 0 || !(theirs.mean > 0) || clocks_differ(group, baseline))
    return "";
  // Methods of rounds complete the last one.
  if (std::abs(mine.mean - theirs.mean) <=
      std::max(group.rounding.round, baseline.rounding.round) * theirs.mean)
    return "";
  const std::string ratio = format_number(mine.mean / theirs.mean, 3);
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

Judgement judge(const ComparedDifference& difference) {
  constexpr double kLargest = ComparedDifference::kSignificance;
  const PairedDifference& value = difference.value;
  if (difference.p_holm && *difference.p_holm <= kLargest && value.sign != 0)
    return value.sign == better_direction(difference.metric) ? Judgement::better : Judgement::worse;
  if (value.pairs > 1 && value.p && value.unequal == 0)
    return difference.unordered == 0 ? Judgement::equal : Judgement::not_shown;
  if (is_equivalent(difference)) return Judgement::equivalent;
  const bool too_few = difference.smallest_p_holm && *difference.smallest_p_holm > kLargest;
  return too_few ? Judgement::too_few_seeds : Judgement::not_shown;
}

std::string_view name_of(Judgement judgement) {
  constexpr std::array<std::string_view, 6> kNames{"better",     "worse",     "equal",
                                                   "equivalent", "not shown", "too few seeds"};
  return kNames.at(static_cast<std::size_t>(judgement));
}

std::vector<std::pair<std::string, std::map<Judgement, int>>> judgements_in(
    const Comparison& comparison, const std::string& metric) {
  std::vector<std::pair<std::string, std::map<Judgement, int>>> counts;
  for (const ComparedDifference& one : comparison.differences) {
    if (one.metric != metric) continue;
    const std::string& label = group_of(comparison, one.group).label;
    auto row =
        std::ranges::find_if(counts, [&](const auto& known) { return known.first == label; });
    if (row == counts.end()) row = counts.insert(row, {label, {}});
    ++row->second[judge(one)];
  }
  return counts;
}

std::vector<std::string> verdict_sentences(const Comparison& comparison,
                                           const ComparedPoint& point) {
  std::vector<std::string> sentences;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    if (const auto* one = find_difference(comparison, group.group, comparison.primary))
      sentences.push_back(sentence_on(comparison, group, *one));
    if (point.baseline && g != *point.baseline) {
      const ComparedGroup& baseline = comparison.groups[*point.baseline];
      if (auto speed = speed_sentence(group, baseline); !speed.empty())
        sentences.push_back(std::move(speed));
    }
    if (auto sentence = consensus_sentence(comparison, group); !sentence.empty())
      sentences.push_back(std::move(sentence));
  }
  for (const auto further : {margin_sentences, equal_sentences})
    for (std::string& sentence : further(comparison, point))
      sentences.push_back(std::move(sentence));
  return sentences;
}

std::vector<std::string> consensus_sentences(const Comparison& comparison,
                                             const ComparedPoint& point) {
  std::vector<std::string> sentences;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto* const tested = find_difference(comparison, group.group, kMidConsensus);
    if (tested == nullptr || !tested->p_holm || comparison.primary == kMidConsensus) continue;
    if (auto sentence = consensus_sentence(comparison, group); !sentence.empty())
      sentences.push_back(std::move(sentence));
  }
  return sentences;
}

std::vector<std::string> margin_sentences(const Comparison& comparison,
                                          const ComparedPoint& point) {
  std::vector<std::string> sentences;
  for (const auto& [metric, margin] : comparison.plan.margins) {
    if (metric == comparison.primary || metric == kMidConsensus) continue;
    for (const std::size_t g : point.groups)
      if (const auto* one = find_difference(comparison, comparison.groups[g].group, metric))
        sentences.push_back(sentence_on(comparison, comparison.groups[g], *one));
  }
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

namespace {

/// Labels of a point's groups by the tests' results.
struct Judged {
  std::vector<std::string> better, worse, equivalent, open;
  std::string margin;
  bool too_few = false, ties = false, all_equal = true;

  bool any() const { return better.size() + worse.size() + equivalent.size() + open.size() > 0; }
};

Judged judged_at(const Comparison& comparison, const ComparedPoint& point) {
  Judged judged;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    const auto* const one = find_difference(comparison, group.group, comparison.primary);
    if (one == nullptr) continue;
    const Judgement judgement = judge(*one);
    judged.all_equal = judged.all_equal && judgement == Judgement::equal &&
                       one->value.difference.n == one->value.pairs;
    judged.too_few =
        judged.too_few || judgement == Judgement::too_few_seeds || one->value.pairs == 1;
    judged.ties = judged.ties || (judgement == Judgement::not_shown && ties_decide(*one));
    if (judgement == Judgement::equivalent) judged.margin = one->equivalence->margin.words();
    const bool shown = judgement == Judgement::better || judgement == Judgement::worse;
    (judgement == Judgement::better       ? judged.better
     : judgement == Judgement::worse      ? judged.worse
     : judgement == Judgement::equivalent ? judged.equivalent
                                          : judged.open)
        .push_back(
            shown && is_equivalent(*one)
                ? fmt::format("{} (yet {})", group.label, margin_words(one->equivalence->margin))
                : group.label);
  }
  judged.all_equal = judged.all_equal && judged.open.size() + 1 == point.groups.size();
  return judged;
}

}  // namespace

Headline headline(const Comparison& comparison, const ComparedPoint& point) {
  const std::optional<std::size_t> place = baseline_for(point, comparison.primary);
  if (!place || comparison.primary.empty()) return {};
  const Judged judged = judged_at(comparison, point);
  if (!judged.any()) return {};
  const std::string words =
      words_of(comparison.groups[*place], comparison.primary) + end_words(comparison, point);
  const std::string& baseline = comparison.groups[*place].label;
  const std::string lost = diverged_text(comparison, point);
  if (judged.all_equal) return {fmt::format("All had the same {}, to rounding.", words), lost};
  std::vector<std::string> parts;
  const auto tell = [&](const std::string& how, const std::vector<std::string>& labels) {
    if (!labels.empty()) parts.push_back(fmt::format("{}: {}.", how, fmt::join(labels, ", ")));
  };
  tell(fmt::format("Better than {} in {}", baseline, words), judged.better);
  tell(fmt::format("Worse than {} in {}", baseline, words), judged.worse);
  tell(parts.empty()
           ? fmt::format("Equivalent to {} within {} in {}", baseline, judged.margin, words)
           : fmt::format("Equivalent to it within {}", judged.margin),
       judged.equivalent);
  if (parts.empty())
    return {fmt::format("No difference in {} to {} was shown.", words, baseline),
            joined(judged.too_few ? "Too few seeds to show one."
                   : judged.ties  ? "Too many seeds tie to show one."
                                  : "",
                   lost)};
  tell("Not told apart from it", judged.open);
  const std::string result = parts.front();
  parts.erase(parts.begin());
  return {result, joined(fmt::format("{}", fmt::join(parts, " ")), lost)};
}

}  // namespace acid
