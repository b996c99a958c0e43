#pragma once

#include <string>

#include "store/queries.hpp"

namespace acid {

/// Where in a run its metrics are read: the last sample of each; the best one, for a metric that
/// has a better direction, else the last; or a place on an axis, on the line between the samples
/// before and after it, nothing in runs that ended before it.
struct ReadAt {
  enum class Kind { last, best, coordinate };
  Kind kind = Kind::last;
  PositionAxis axis = PositionAxis::gradients;  // coordinate; also what auc_* runs along
  double value = 0;                             // on that axis
  bool in_epochs = false;  // the value is in epochs; every run knows its own gradients in an epoch
};
/// "last", "best", "gradients=N", "epochs=E", "time=T" (normalised), "seconds=S" or "bytes=B", with
/// units as they are printed: seconds=2.67min, bytes=100MB. UsageError for any other text.
ReadAt parse_read_at(const std::string& text);
/// For a note: "at 5000 gradients, on the line between the samples around it". Empty for last.
std::string describe(const ReadAt& at);
/// "5000 gradients". Only for a coordinate.
std::string place_of(const ReadAt& at);
/// "gradients", "time", "seconds", "bytes".
std::string_view name_of(PositionAxis axis);
/// "gradients", "units of normalised time", "seconds", "bytes".
std::string_view unit_of(PositionAxis axis);

double coordinate(const Position& position, PositionAxis axis);
/// The point at that share of the way from `a` to `b`: 0 is `a`, 1 is `b`.
double between(double a, double b, double share);
Position between(const Position& a, const Position& b, double share);

/// A value that a run is to reach.
struct Target {
  std::string metric;
  double value = 0;
  bool operator==(const Target&) const = default;
};
/// "eval_accuracy=0.9". UsageError for anything else.
Target parse_target(const std::string& text);

}  // namespace acid
