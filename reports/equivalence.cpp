#include "reports/equivalence.hpp"

#include <fmt/format.h>

#include "engine/base/names.hpp"
#include "reports/compare_formats.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"
#include "reports/primary.hpp"

namespace acid {
namespace {

constexpr double kShown = ComparedDifference::kSignificance;

std::string tests_text(const ComparedDifference& difference) {
  return fmt::format("two one-sided exact {} tests, p (Holm over {}) = {}",
                     name_of(difference.value.test), counted(difference.family, "comparison"),
                     format_p(difference.equivalence->p_holm));
}

}  // namespace

std::string margin_words(const Margin& margin) { return "equivalent within " + margin.words(); }

bool is_equivalent(const ComparedDifference& difference) {
  return difference.equivalence && difference.equivalence->p_holm &&
         *difference.equivalence->p_holm <= kShown;
}

std::string verdict_of(const ComparedDifference& difference) {
  const Judgement judgement = judge(difference);
  if (judgement == Judgement::equivalent) return margin_words(difference.equivalence->margin);
  const bool shown = judgement == Judgement::better || judgement == Judgement::worse;
  const std::string words(name_of(judgement));
  if (!shown || !is_equivalent(difference)) return words;
  return fmt::format("{}, {}", words, margin_words(difference.equivalence->margin));
}

std::string verdict_with_p(const ComparedDifference& difference) {
  const Judgement judgement = judge(difference);
  std::string words(name_of(judgement));
  if (difference.p_holm && judgement != Judgement::too_few_seeds)
    words += fmt::format(", p = {}", format_p(difference.p_holm));
  if (!is_equivalent(difference)) return words;
  const std::string equivalent =
      fmt::format("{}, p = {}", margin_words(difference.equivalence->margin),
                  format_p(difference.equivalence->p_holm));
  return judgement == Judgement::equivalent ? equivalent : words + "; " + equivalent;
}

std::optional<double> deciding_p(const ComparedDifference& difference) {
  return judge(difference) == Judgement::equivalent ? difference.equivalence->p_holm
                                                    : difference.p_holm;
}

std::string verdict_name(const Comparison& comparison, const std::string& metric,
                         Judgement judgement) {
  const auto margin = comparison.plan.margins.find(std::string(base_metric(metric)));
  if (judgement != Judgement::equivalent || margin == comparison.plan.margins.end())
    return std::string(name_of(judgement));
  return margin_words(margin->second);
}

std::string equivalence_cell(const ComparedDifference& difference) {
  if (!difference.equivalence) return "";
  return fmt::format(
      "{}, p = {}",
      is_equivalent(difference) ? "within " + difference.equivalence->margin.words() : "not shown",
      format_p(difference.equivalence->p_holm));
}

std::optional<double> would_be_shown(const ComparedDifference& difference) {
  const Estimate& e = difference.value.difference;
  if (!difference.p_holm || e.n < difference.value.pairs || !e.sd || !(*e.sd > 0))
    return std::nullopt;
  const auto effect = effect_shown(e.n, static_cast<std::size_t>(difference.family));
  return effect ? std::optional(*effect * *e.sd) : std::nullopt;
}

std::string equivalent_sentence(const std::string& label, const std::string& baseline,
                                const std::string& estimate, const ComparedDifference& difference) {
  return fmt::format("{} and {} were {} in {}: {}, {}.", label, baseline,
                     margin_words(difference.equivalence->margin),
                     words_of(base_metric(difference.metric)), estimate, tests_text(difference));
}

std::string within_margin(const ComparedDifference& difference) {
  if (!is_equivalent(difference)) return "";
  return fmt::format(" Even so they were {}: {}.", margin_words(difference.equivalence->margin),
                     tests_text(difference));
}

std::string not_equivalent_words(const ComparedDifference& difference) {
  if (!difference.equivalence || !difference.equivalence->p_holm) return "";
  const auto& [margin, size, p, p_holm, seeds] = *difference.equivalence;
  std::string words = fmt::format("; nor were they shown to be {}, {}", margin_words(margin),
                                  tests_text(difference));
  if (seeds)
    words +=
        fmt::format("; if it is what was seen, {} seeds, {} more, show that with {:.0f} % power",
                    *seeds, *seeds - difference.value.pairs, 100 * kPower);
  return words;
}

bool ties_decide(const ComparedDifference& difference) {
  const PairedDifference& value = difference.value;
  return value.p && value.unequal < value.pairs &&
         smallest_p(value.unequal) > ComparedDifference::kSignificance;
}

std::string ties_words(const ComparedDifference& difference) {
  const auto& [pairs, unequal] = std::pair(difference.value.pairs, difference.value.unequal);
  if (unequal == pairs) return "";
  std::string words = fmt::format("; {} of {} pairs tie", pairs - unequal, pairs);
  if (ties_decide(difference))
    words += fmt::format(", and the smallest p that {} could give is {}",
                         unequal == 1 ? "the other" : fmt::format("the other {}", unequal),
                         format_p(smallest_p(unequal)));
  return words;
}

std::string not_shown_words(const ComparedDifference& difference) {
  std::string words = ties_words(difference);
  if (const auto size = would_be_shown(difference))
    words +=
        fmt::format("; a difference of {} would have been, with {:.0f} % power",
                    is_to_target(difference.metric) ? format_metric_value(difference.metric, *size)
                                                    : format_number(*size, 2),
                    100 * kPower);
  return words + more_seeds_words(difference) + not_equivalent_words(difference);
}

}  // namespace acid
