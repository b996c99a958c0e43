#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/comparison.hpp"
#include "reports/report_table.hpp"

namespace acid {

/// Something that varies, as one heading of a table: a swept setting, or "algorithm". A kind and
/// what that kind takes are one: "partition", whose values are "iid" and "dirichlet alpha 0.1".
struct PivotAxis {
  std::string title;              // "partition", "workers", "learning_rate"; unique
  std::vector<std::string> keys;  // dotted
};
inline constexpr std::string_view kAlgorithmAxis = "algorithm";
/// Of what a sweep varies, those with the fewest values first. Without the algorithm.
std::vector<PivotAxis> axes_of(const Comparison& comparison);
/// "dirichlet alpha 0.1", "0.05"; "–" where the point has no such setting.
std::string axis_text(const PivotAxis& axis, const ComparedPoint& point);

/// Which keys, or "algorithm", make rows and columns. What is left out goes to the rows, and the
/// algorithm to the columns.
struct PivotKeys {
  std::vector<std::string> rows, columns;
};
/// "topology.kind,workers.count:algorithm"; both sides may be empty. UsageError without a colon.
PivotKeys parse_pivot(const std::string& text);

/// One metric of a whole sweep as one table. Every group is in one cell; a cell may have none.
struct Pivot {
  std::string metric;
  std::vector<PivotAxis> row_axes, column_axes;
  std::vector<std::vector<std::string>> rows, columns;         // each with a text per axis
  std::vector<std::vector<std::optional<std::size_t>>> cells;  // [row][column]: index of a group
  /// By group: better than every other group of its point that has an outcome. Exact paired tests
  /// of all pairs of groups of a point, p adjusted by Holm over the pairs of all points together,
  /// at most 0.05: with as much certainty no mark is wrong.
  std::vector<bool> best;
  /// By group: equivalent to the baseline of its point, as the verdict has it (verdict_of()).
  std::vector<bool> equivalent;
  std::size_t tests = 0;    // pairs that have a p
  std::size_t leading = 0;  // so many row axes divide a printed table into parts
};

/// `by` as CompareOptions has it: these axes are the first of the rows, and `leading`. Without
/// keys, settings make rows and algorithms columns. UsageError for a key that is not swept.
Pivot pivot_of(const Comparison& comparison, const std::string& metric, const PivotKeys& keys = {});

/// Those named or, where none are, the primary outcome, else the first metric there is.
std::vector<std::string> pivot_metrics(const Comparison& comparison,
                                       const std::vector<std::string>& named);

/// How the numbers of a pivot are printed: means with half of their interval, where they have one,
/// or alone, with so many `decimals` or each as it comes; all times `scale`.
struct PivotNumbers {
  bool interval = true;
  double scale = 1;
  std::optional<int> decimals = {};
};
/// The rows' axes are its keys. In print there is a head for each axis of the columns, else one for
/// all. "(2 of 3)" stands behind a mean where other runs diverged or did not reach a target.
ReportTable table_of(const Pivot& pivot, const Comparison& comparison,
                     const PivotNumbers& numbers = {}, bool in_print = false);
/// The metric for readers: "Test accuracy (%)", "Seconds to eval_loss = 0.5".
std::string title_in_print(const Pivot& pivot, const Comparison& comparison);
/// What kEquivalentMark says, "equivalent to AR-SGD within 0.01 (…)"; empty where the metric has no
/// margin.
std::string equivalence_legend(const Pivot& pivot, const Comparison& comparison,
                               bool in_percent = false);
/// Means with half of their interval, or means alone where lines cannot hold them. "†" marks the
/// best. Notes on its numbers are below, in every form (reports/notes.hpp).
std::string to_text(const Pivot& pivot, const Comparison& comparison, bool colour,
                    const TextLines& lines = {});
/// The row axes, and for each column mean, half of the 95 % interval, whether it is the best, the
/// kinds of the notes on it (note_names()) and, where the metric has a margin, whether it is
/// equivalent to the baseline; of *_to_target the target.
std::string to_csv(const Pivot& pivot, const Comparison& comparison);
std::string to_markdown(const Pivot& pivot, const Comparison& comparison);
/// A table environment for the booktabs package, with a caption that says what its numbers are
/// (below the table where there is another `caption`, which is LaTeX);
/// notes on the whole table stand in it, those on single settings below the table.
std::string to_latex(const Pivot& pivot, const Comparison& comparison,
                     const std::string& caption = {});

/// From how many sweep points on a screen shows an overview.
inline constexpr std::size_t kMostDetailedPoints = 4;
/// What a screen shows of a comparison: to_text() of up to kMostDetailedPoints; of more a table of
/// the primary outcome, how many differences were shown, the notes, and `command`, which shows the
/// rest.
std::string to_screen(const Comparison& comparison, bool colour, const std::string& command,
                      const std::vector<std::string>& metrics = {}, const TextLines& lines = {});

}  // namespace acid
