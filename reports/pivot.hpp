#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/comparison.hpp"
#include "reports/report_table.hpp"

namespace acid {

/// Something that varies, as one heading of a table: a swept setting, or "algorithm". A kind and
/// its own settings are one axis: "partition", whose values are "iid" and "dirichlet alpha 0.1".
struct PivotAxis {
  std::string title;              // "partition", "workers", "learning_rate"; unique
  std::vector<std::string> keys;  // dotted
};
inline constexpr std::string_view kAlgorithmAxis = "algorithm";
/// The axes of a sweep, those with the fewest values first. Without the algorithm.
std::vector<PivotAxis> axes_of(const Comparison& comparison);
/// "dirichlet alpha 0.1", "0.05"; "–" if the point has no such setting.
std::string axis_text(const PivotAxis& axis, const ComparedPoint& point);

/// The keys, or "algorithm", of rows and columns. Other keys go to rows, the algorithm to columns.
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
  /// at most 0.05: so with 95 % certainty no mark is wrong.
  std::vector<bool> best;
  /// By group: equivalent to the baseline of its point, by the verdict (verdict_of()).
  std::vector<bool> equivalent;
  std::size_t tests = 0;    // pairs that have a p
  std::size_t leading = 0;  // number of first row axes that divide a printed table into parts
};

/// `by`, as in CompareOptions: these axes are the first of the rows, and `leading`. Without keys,
/// settings make rows and algorithms columns. UsageError for a key that is not swept.
Pivot pivot_of(const Comparison& comparison, const std::string& metric, const PivotKeys& keys = {});

/// The named metrics or, without any, the primary outcome, else the first metric.
std::vector<std::string> pivot_metrics(const Comparison& comparison,
                                       const std::vector<std::string>& named);

/// How the numbers of a pivot are printed: means with half of their interval, if they have one, or
/// alone, with so many `decimals` or each with its own; all times `scale`.
struct PivotNumbers {
  bool interval = true;
  double scale = 1;
  std::optional<int> decimals = {};
};
/// The rows' axes are its keys. In print there is a head for each axis of the columns, else one for
/// all. "(2 of 3)" follows a mean if other runs diverged, missed a target, or
/// cannot be read at that place.
ReportTable table_of(const Pivot& pivot, const Comparison& comparison,
                     const PivotNumbers& numbers = {}, bool in_print = false);
/// The metric for readers: "Test accuracy (%)", "Seconds to eval_loss = 0.5".
std::string title_in_print(const Pivot& pivot, const Comparison& comparison);
/// The legend of kEquivalentMark, "equivalent to AR-SGD within 0.01 (…)"; empty without a margin.
std::string equivalence_legend(const Pivot& pivot, const Comparison& comparison,
                               bool in_percent = false);
/// Means with half of their interval, or means alone if the lines are too short. "†" marks the
/// best. Notes on its numbers are below, in every form (reports/notes.hpp).
std::string to_text(const Pivot& pivot, const Comparison& comparison, bool colour,
                    const TextLines& lines = {});
/// The row axes, and for each column mean, half of the 95 % interval, whether it is the best, the
/// kinds of the notes on it (note_names()) and, if the metric has a margin, whether it is
/// equivalent to the baseline; for *_to_target the target.
std::string to_csv(const Pivot& pivot, const Comparison& comparison);
std::string to_markdown(const Pivot& pivot, const Comparison& comparison);
/// A table environment for the booktabs package, with a caption that explains its numbers (below
/// the table if there is another `caption`, which is LaTeX); notes on the whole table are in it,
/// those on single settings below the table.
std::string to_latex(const Pivot& pivot, const Comparison& comparison,
                     const std::string& caption = {});

/// The number of sweep points from which a screen shows an overview.
inline constexpr std::size_t kMostDetailedPoints = 4;
/// The comparison for a screen: to_text() up to kMostDetailedPoints; for more points a table of the
/// primary outcome, how many differences were shown, the notes, and `command`, which shows the
/// rest.
std::string to_screen(const Comparison& comparison, bool colour, const std::string& command,
                      const std::vector<std::string>& metrics = {}, const TextLines& lines = {});

}  // namespace acid
