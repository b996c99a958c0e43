#pragma once

#include <optional>
#include <string>

#include "reports/verdict.hpp"

namespace acid {

/// Whether the two one-sided tests show that the difference is less than its margin, by Holm's p.
bool is_equivalent(const ComparedDifference& difference);
/// "equivalent within 0.01".
std::string margin_words(const Margin& margin);
/// "better", "equivalent within 0.01", "worse, equivalent within 2 %": all that the tests say.
std::string verdict_of(const ComparedDifference& difference);
/// "worse, p = 0.025; equivalent within 0.01, p = 0.037": each p beside what it is of.
std::string verdict_with_p(const ComparedDifference& difference);
/// The p that decided it: of the difference or, where it was shown to be less than its margin and
/// not to be there, of that.
std::optional<double> deciding_p(const ComparedDifference& difference);
/// "equivalent within 0.01" or, of any other judgement, its name. Of a comparison's metric.
std::string verdict_name(const Comparison& comparison, const std::string& metric,
                         Judgement judgement);
/// For a column of tables: "within 0.01, p = 0.002", "not shown, p = 0.2", "" without a margin.
std::string equivalence_cell(const ComparedDifference& difference);
/// The difference that as many seeds show with 80 % power (effect_shown() of reports/power.hpp), by
/// the spread seen; absent where that is unknown or zero and where the seeds are too few to show
/// any.
std::optional<double> would_be_shown(const ComparedDifference& difference);
/// Of a group and its baseline in words, where neither a difference nor rounding is all there is.
std::string equivalent_sentence(const std::string& label, const std::string& baseline,
                                const std::string& estimate, const ComparedDifference& difference);
/// What follows the sentence of a difference that is shown, too, to be less than its margin; empty
/// where it is not.
std::string within_margin(const ComparedDifference& difference);
/// What follows where equivalence was tested and not shown, and how many seeds would show it.
std::string not_equivalent_words(const ComparedDifference& difference);
/// Whether so many pairs are equal that the others could show nothing.
bool ties_decide(const ComparedDifference& difference);
/// "; 6 of 8 pairs tie, and the smallest p that the other 2 could give is 0.50"; empty without
/// ties.
std::string ties_words(const ComparedDifference& difference);
/// What follows where nothing was shown: ties_words(), what would have been, how many seeds would
/// show what was seen, and not_equivalent_words().
std::string not_shown_words(const ComparedDifference& difference);

}  // namespace acid
