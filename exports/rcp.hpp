#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "exports/text.hpp"
#include "reports/comparison.hpp"

namespace acid {

// Reference convergence points of MLPerf: files such as training_5.1.0/rcps_retinanet.json of
// github.com/mlcommons/logging, and the test of its mlperf_logging/rcp_checker. An entry says, for
// one batch size, after how many epochs each of some runs reached the target.

/// A group of runs as a point: examples are counted over all workers.
struct ConvergencePoint {
  std::string label, at;  // of the group, and its swept settings
  double batch_size = 0;  // of all workers together
  double epoch = 0;       // examples in an epoch
  /// Epochs at the evaluation that first reached the target, by run; infinite: it was not reached.
  std::vector<double> epochs;
  std::string benchmark, platform, when;
  nlohmann::json hyperparams;

  std::size_t missed() const;
};

/// The points of a comparison's groups, in order. UsageError if the runs have no target, or if a
/// group's has no epochs, as without a data set.
std::vector<ConvergencePoint> convergence_points(const Store& store, const Comparison& comparison);

/// The file, with an entry for each point that all of its runs reached. `creator`: of its runs.
nlohmann::json rcp_json(const std::vector<ConvergencePoint>& points, const std::string& creator);

/// What a reference says about one batch size.
struct ReferencePoint {
  std::string name;
  double batch_size = 0;
  std::size_t runs = 0;  // whose values are in the mean
  double mean = 0;       // without the fastest and the slowest ("olympic")
  double stdev = 0;      // of all, over n
};

class ConvergenceReference {
 public:
  /// UsageError if the file is not such a file, or has two entries with one batch size.
  explicit ConvergenceReference(const std::string& path);

  /// What the checker says of a point.
  struct Verdict {
    std::string words;  // "passes", "fails: …"
    bool passes = false;
    double mean = 0;  // olympic, of the point
    std::optional<ReferencePoint> reference;
    double fewest = 0;  // the smallest mean that passes
  };
  /// The one-sided t-test at 5 % of the checker: a point passes unless its mean is smaller than the
  /// reference's by more than chance allows, with the standard deviation of the reference for both.
  /// Between two batch sizes the reference is interpolated; below the smallest that one stands in;
  /// above the largest there is none. Of the entries only those count that no line between others
  /// beats (prune).
  Verdict judge(const ConvergencePoint& point) const;
  const std::string& unit() const { return unit_; }  // "epochs" or "samples"

 private:
  void prune();

  std::vector<ReferencePoint> points_;  // by batch size
  std::string unit_;
  std::size_t left_out_ = 1;  // fastest runs, and as many slowest
};

/// A table for a terminal, and its rows for --json.
std::string rcp_text(const std::vector<ConvergencePoint>& points,
                     const ConvergenceReference& reference, const TextLines& lines);
nlohmann::json rcp_rows(const std::vector<ConvergencePoint>& points,
                        const ConvergenceReference& reference);

}  // namespace acid
