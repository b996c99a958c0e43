#pragma once

#include <optional>
#include <span>
#include <string>

#include "reports/curves.hpp"

namespace acid {

/// Where in a run its metrics are read.
struct ReadAt {
  enum class Kind { last, best, coordinate };
  Kind kind = Kind::last;
  Axis axis = Axis::gradients;  // coordinate
  double value = 0;             // on that axis
};
/// "last", "best", "gradients=N", "time=T" (normalised), "seconds=S" or "bytes=B". UsageError says
/// which of these a text is not.
ReadAt parse_read_at(const std::string& text);
/// For a note: "at 5000 gradients, or the last sample before". Empty for last.
std::string describe(const ReadAt& at);

/// A value that a run is to reach.
struct Target {
  std::string metric;
  double value = 0;
};
/// "eval_accuracy=0.9". UsageError for anything else.
Target parse_target(const std::string& text);

/// The sample that counts: the last one; the best one, of a metric that has a better direction,
/// else the last; or the last one at or before the coordinate, none where the run ended before it.
std::optional<SeriesPoint> sample_at(std::span<const SeriesPoint> series, const ReadAt& at,
                                     const std::string& metric, const Position& end);
/// The first sample that reaches the target; higher is better or lower is, as the metric has it.
std::optional<SeriesPoint> first_at(std::span<const SeriesPoint> series, const Target& target);

}  // namespace acid
