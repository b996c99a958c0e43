#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// What the tests say of a difference that has_verdict().
/// equal: to rounding. equivalent: less than the margin, where no difference was shown.
enum class Judgement { better, worse, equal, equivalent, not_shown, too_few_seeds };
Judgement judge(const ComparedDifference& difference);
/// "better", "worse", "equal", "equivalent", "not shown", "too few seeds". Equivalent within what:
/// verdict_of() (reports/equivalence.hpp).
std::string_view name_of(Judgement judgement);
/// Every group of a point against its baseline, in plain sentences: in the primary outcome and, in
/// a sentence and a family of its own, in mid-run consensus distance. "better" and "worse" only
/// where a p that is adjusted by Holm over the report's whole family is 0.05 or less; a sentence
/// beside these is an estimate.
std::vector<std::string> verdict_sentences(const Comparison& comparison,
                                           const ComparedPoint& point);
/// The sentences of all points, each with the point's settings before it, where there are any, and
/// what cannot be said.
std::vector<std::string> verdict_sentences(const Comparison& comparison);
/// Of a point's sentences those in which mid-run consensus distance is tested.
std::vector<std::string> consensus_sentences(const Comparison& comparison,
                                             const ComparedPoint& point);
/// Of them, what has a margin, but for the primary outcome and consensus distances.
std::vector<std::string> margin_sentences(const Comparison& comparison, const ComparedPoint& point);
/// "0.755 [0.66, 0.85]": a difference with its interval.
std::string with_interval(const std::string& metric, const Estimate& e);
/// What these sentences say of the primary outcome, in one; plain text, empty where nothing was
/// compared. The part before the first full stop is the result.
struct Headline {
  std::string result, rest;
};
Headline headline(const Comparison& comparison, const ComparedPoint& point);

/// Of them, what holds where all runs have come equally far (EqualPlace), one sentence for each
/// axis, and when a target was reached.
std::vector<std::string> equal_sentences(const Comparison& comparison, const ComparedPoint& point);
/// What the samples cannot tell there, once for each axis, whatever the number of points.
std::vector<std::string> equal_doubts(const Comparison& comparison);
/// " at equal gradients": what the ends of a point's runs have in common, where they do not have
/// everything.
std::string end_words(const Comparison& comparison, const ComparedPoint& point);
}  // namespace acid
