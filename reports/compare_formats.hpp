#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "reports/comparison.hpp"
#include "reports/report_table.hpp"

namespace acid {

/// A value of the metric in a unit a person would choose: "1.5 GB", "45 s", "0.91".
std::string format_metric_value(const std::string& metric, double value);
/// An estimate in the metric's unit: bytes and seconds in units a person would choose.
std::string format_metric(const std::string& metric, const Estimate& estimate);

/// "2 of 3": runs that reached their target, for a metric that measures the way to it.
std::string reached_cell(const ComparedGroup& group, const std::string& metric);
/// A group's estimate for a table of many metrics: "–" without a value, with "(2 of 3)" after it if
/// the others diverged or missed a target: "reached by 2 of 3" has no mean.
std::string estimate_cell(const ComparedGroup& group, const std::string& metric);
/// "3", or "3 (7 of 10 diverged)".
std::string count_cell(const ComparedGroup& group);
/// A difference with its simultaneous interval, and kSurvivors after it if runs diverged.
std::string difference_cell(const ComparedDifference& difference);
inline constexpr std::string_view kSurvivors = " *";

/// The first columns of every table of a section: the label of each of these groups and its values
/// of the settings that differ within the section.
std::vector<ReportColumn> key_columns(const Comparison& comparison,
                                      std::span<const ComparedGroup* const> groups);

/// For people. The caller chooses whether it has colour. With eight runs or more, groups also have
/// their interquartile mean and their chance to be better than the baseline, if lines have room.
std::string to_text(const Comparison& comparison, bool colour, const TextLines& lines = {});
/// {"schema_version", "heading", "baseline", "primary", "verdict": [sentence], "metrics": [name],
/// "by": [key], "sections": [{"settings": {key: value}, "groups": [group]}], "groups": [{"group",
/// "algorithm", "label", "settings", "varying": {key: value}, "n", "diverged", "unfinished",
/// "runs": [id], "seeds": [seed], "diverged_seeds": [seed], "metrics": {name: {"n", "diverged",
/// "mean", "sd", "se", "ci_low", "ci_high", "median", "iqm", "iqm_ci_low", "iqm_ci_high",
/// "censored", "reached", "target": {"metric", "value"}, "samples_apart", "resolution"}}}],
/// "equal": [{"axis", "settings", "place", "at_end", "metric", "stale": [{"group", "label", "run",
/// "seed", "samples_apart"}]}], "differences":
/// [{"group", "algorithm", "label", "baseline", "metric", "n", "mean", "sd", "se", "ci_low",
/// "ci_high", "simultaneous_ci_low", "simultaneous_ci_high", "pairs", "diverged",
/// "baseline_diverged", "test", "p", "p_holm", "family", "rounding", "margin", "p_equivalence",
/// "p_equivalence_holm", "seeds_to_show_equivalent", "verdict", "seeds_to_show", "improvement",
/// "improvement_ci_low", "improvement_ci_high"}], "selections": [to_json(Selection)], "ratios":
/// [{"group", "label", "reference", "metric", "n", "diverged", "mean", "ci_low", "ci_high"}],
/// "notes": [text], "caveats": notes_json()}. A missing interval and a value that is not finite are
/// null. "n" counts finished runs, "diverged" those that no mean holds. "censored", of *_to_target
/// only: runs that did not reach the target; "reached": the others. "samples_apart" and
/// "resolution": see Reading; 0 where every value is a sample's. "equal": see EqualPlace, "place"
/// null where it is 0. "p" is that of one test alone, "p_holm" the one that every table prints;
/// "test" says which test it is. "rounding": differences of a seed that are no larger are none
/// (reports/rounding.hpp). "margin": in the metric's unit; null without one. "p_equivalence": of
/// two one-sided tests. "seeds_to_show": with so many seeds a test shows the difference seen, if it
/// is the true one, with 80 % power, "seeds_to_show_equivalent" that it is less than the margin;
/// null if it was shown, or unknown. "verdict", if has_verdict(): "better", "worse", "not shown",
/// "too few seeds", "equal" or "equivalent within 0.01", which may follow "better" or "worse" after
/// a comma.
nlohmann::json to_json(const Comparison& comparison);
/// One row per group and metric: group, algorithm, label, the varying settings by dotted key (those
/// of `by` first), metric, then members of the metric and of its difference in to_json(), as
/// "difference_n" where both have one; "difference" is its mean. Then of what was chosen
/// selected_by and the columns selection_*; notes: the kinds of notes on
/// this row (note_names()); of *_to_target the target; selection_gradients and selection_rungs.
/// Absent numbers are empty fields. RFC 4180 quoting, "\n" line ends.
std::string to_csv(const Comparison& comparison);
std::string to_markdown(const Comparison& comparison);
/// A tabular for the booktabs package, one for each section, and the notes below; the verdict is a
/// comment above. With a caption, which is LaTeX, each is a table environment.
std::string to_latex(const Comparison& comparison, const std::string& caption = {});

}  // namespace acid
