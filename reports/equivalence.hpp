#pragma once

#include <optional>
#include <string>

#include "reports/verdict.hpp"

namespace acid {

/// Whether the two one-sided tests show that the difference is less than its margin, by Holm's p.
bool is_equivalent(const ComparedDifference& difference);
/// "equivalent within 0.01".
std::string margin_words(const Margin& margin);
/// "better", "equivalent within 0.01", "worse, equivalent within 2 %": the tests' result.
std::string verdict_of(const ComparedDifference& difference);
/// "worse, p = 0.025; equivalent within 0.01, p = 0.037": each result with its p.
std::string verdict_with_p(const ComparedDifference& difference);
/// The p that decided: of equivalence if only that was shown, else of the difference.
std::optional<double> deciding_p(const ComparedDifference& difference);
/// "equivalent within 0.01" or, for any other judgement, its name. For a comparison's metric.
std::string verdict_name(const Comparison& comparison, const std::string& metric,
                         Judgement judgement);
/// For a column of tables: "within 0.01, p = 0.002", "not shown, p = 0.2", "" without a margin.
std::string equivalence_cell(const ComparedDifference& difference);
/// The difference that as many seeds show with 80 % power (effect_shown() of reports/power.hpp),
/// with the observed spread; absent if that is unknown or zero or if the seeds are too few to show
/// any.
std::optional<double> would_be_shown(const ComparedDifference& difference);
/// Says that a group and its baseline are equivalent, without a shown difference or rounding.
std::string equivalent_sentence(const std::string& label, const std::string& baseline,
                                const std::string& estimate, const ComparedDifference& difference);
/// Words after the sentence of a shown difference that is also less than its margin; else empty.
std::string within_margin(const ComparedDifference& difference);
/// Words after equivalence was tested and not shown, with the number of seeds that would show it.
std::string not_equivalent_words(const ComparedDifference& difference);
/// Whether so many pairs are equal that the others could show nothing.
bool ties_decide(const ComparedDifference& difference);
/// "; 6 of 8 pairs tie, and the smallest p that the other 2 could give is 0.50"; empty without
/// ties.
std::string ties_words(const ComparedDifference& difference);
/// Words after nothing was shown: ties_words(), the difference that would have been shown, the
/// seeds that would show the observed one, and not_equivalent_words().
std::string not_shown_words(const ComparedDifference& difference);

}  // namespace acid
