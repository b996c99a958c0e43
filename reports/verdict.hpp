#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/comparison.hpp"

namespace acid {

/// The tests' result for a difference that has_verdict(). equal: to rounding. equivalent: less than
/// the margin, and no difference was shown.
enum class Judgement { better, worse, equal, equivalent, not_shown, too_few_seeds };
Judgement judge(const ComparedDifference& difference);
/// "better", "worse", "equal", "equivalent", "not shown", "too few seeds". verdict_of()
/// (reports/equivalence.hpp) also names the margin.
std::string_view name_of(Judgement judgement);
/// How many differences in the metric have each judgement, by label in the order of first
/// appearance.
std::vector<std::pair<std::string, std::map<Judgement, int>>> judgements_in(
    const Comparison& comparison, const std::string& metric);
/// Every group of a point against its baseline, in plain sentences: in the primary outcome and, in
/// a sentence and a family of its own, in mid-run consensus distance. "better" and "worse" only if
/// a p, adjusted by Holm over the report's whole family, is at most 0.05; the rest are estimates.
std::vector<std::string> verdict_sentences(const Comparison& comparison,
                                           const ComparedPoint& point);
/// The sentences of all points, each with the point's settings before it, if there are any, and
/// what cannot be said.
std::vector<std::string> verdict_sentences(const Comparison& comparison);
/// The sentences of a point that test mid-run consensus distance.
std::vector<std::string> consensus_sentences(const Comparison& comparison,
                                             const ComparedPoint& point);
/// The sentences on metrics with a margin, but the primary outcome and consensus distances.
std::vector<std::string> margin_sentences(const Comparison& comparison, const ComparedPoint& point);
/// "0.755 [0.66, 0.85]": a difference with its interval.
std::string with_interval(const std::string& metric, const Estimate& e);
/// These sentences on the primary outcome as one; plain text, empty if nothing was compared. The
/// part before the first full stop is the result.
struct Headline {
  std::string result, rest;
};
Headline headline(const Comparison& comparison, const ComparedPoint& point);

/// The sentences of a point on places where all runs have come equally far (EqualPlace), one for
/// each axis, and on when a target was reached.
std::vector<std::string> equal_sentences(const Comparison& comparison, const ComparedPoint& point);
/// What the samples cannot tell there, once for each axis, for any number of points.
std::vector<std::string> equal_doubts(const Comparison& comparison);
/// " at equal gradients": what the ends of a point's runs have in common, if they do not have
/// everything in common.
std::string end_words(const Comparison& comparison, const ComparedPoint& point);
}  // namespace acid
