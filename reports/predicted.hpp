#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "reports/comparison.hpp"
#include "store/queries.hpp"

namespace acid {

/// How far a prediction from these draws was from what was measured, in its unit: the continuous
/// ranked probability score, mean |x − y| − ½ mean |x − x'| over pairs of different draws (the fair
/// score of an ensemble: Ferro 2014, 10.1002/qj.2270). 0 where all draws are what was measured; of
/// one draw the distance. NaN without draws.
double crps(std::span<const double> draws, double measured);

/// Seconds for one gradient of each worker, in the mean; not finite for a run without gradients.
double iteration_seconds(const RunSummary& run);

/// A number that was predicted of a run, and what the run did.
struct ScoredValue {
  std::string run;  // id
  std::uint64_t seed = 0;
  PredictedValue predicted;
  bool is_last = true;  // of a metric: at the run's end, wherever that is
  double measured = 0;

  bool is_inside() const { return predicted.low <= measured && measured <= predicted.high; }
};

/// The predictions of a group's finished runs.
struct ScoredGroup {
  std::size_t group = 0;  // index in Comparison::groups
  std::vector<ScoredValue> values;
};

struct PredictionScores {
  std::vector<ScoredGroup> groups;
  std::vector<std::string> made;  // the dates of their predictions, ascending
  /// How many runs were predicted from each experiment's simulated runs, by id; "": from the clock.
  std::map<std::string, int> origins;
  /// Finished runs, by id, that were not predicted; whose prediction is said to be made after they
  /// began; and whose prediction is not as it was written. The last two have none that counts.
  std::vector<std::string> without, late, altered;
  int diverged = 0;  // runs, which have no numbers

  /// Whether any finished run was predicted.
  bool any() const { return !groups.empty() || !late.empty() || !altered.empty(); }
};
/// What the finished runs of a comparison were predicted to do. A metric is read on the line
/// between the samples around the place of its prediction; places that a run did not reach, and
/// values that are not finite, are left out.
PredictionScores score_predictions(const Store& store, const Comparison& comparison);

/// A line of a table: a quantity of a group, over its runs.
struct ScoreRow {
  std::size_t group = 0;  // index in Comparison::groups
  std::string quantity;   // "seconds", "bytes", or a metric
  bool every = false;     // of a metric: at all evaluations after the start; else at the end
  /// Means over the runs; not of all evaluations.
  double predicted = 0, low = 0, high = 0, measured = 0;
  /// predicted / measured − 1; of all evaluations the mean of its size. Values measured as 0 are
  /// left out; NaN where there are no others.
  double error = 0;
  int inside = 0, values = 0;  // in their intervals, of so many
  double crps = 0;             // the mean
};
std::vector<ScoreRow> score_rows(const Comparison& comparison, const PredictionScores& scores);

/// What to know beside such a table, in sentences: when the predictions were made and from what,
/// how many of its values are inside their intervals, and what has no prediction.
std::vector<std::string> score_notes(const std::vector<ScoreRow>& rows,
                                     const PredictionScores& scores);
/// How many values are inside their intervals, and of how many, in all rows: no value twice.
std::pair<int, int> inside_of(const std::vector<ScoreRow>& rows);
inline constexpr std::array kScoreTitles{"predicted", "90 % interval", "measured",
                                         "error",     "inside",        "CRPS"};
/// What these titles say, as people read them; "–" where there is
/// nothing to show.
std::vector<std::string> score_cells(const ScoreRow& row);
/// "eval_loss at the end", "eval_loss, every evaluation", "seconds".
std::string score_name(const ScoreRow& row);

}  // namespace acid
