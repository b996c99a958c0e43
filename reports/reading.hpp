#pragma once

#include <optional>
#include <string>

#include "reports/read_at.hpp"

namespace acid {

/// How well a value between samples is known.
struct Reading {
  double apart = 0;  // distance of the samples around the place, on its axis; 0: it is at a sample
  double resolution = 0;  // most that the metric changes there from one sample to the next, between
                          // the two on either side; of when a target was reached: `apart`
  double bend = 0;        // the line between the samples minus the curve, at the place
  /// The coarser of two.
  static Reading worse(const Reading& a, const Reading& b);
};

/// Samples further apart than this share of the way there say nothing about a place between them.
inline constexpr double kWidestBracket = 0.2;
/// "a fifth of the way there", for messages.
inline constexpr const char* kWidestBracketWords = "a fifth of the way there";

/// A metric at a place of a run. `reading.bend` is the error of linear interpolation,
/// (x − a)(b − x) f''/2 between samples at a and b, f'' the mean of the second differences with the
/// sample before a and with that beyond b; 0 where there is neither.
struct ReadValue {
  std::optional<double> value;  // on the line between the samples around the place
  Reading reading;
  bool too_far = false;  // then there is no value; else none if a sample is not finite
};
/// Absent if the metric has no sample until then. After `end`, the run's end, its last state
/// counts. `widest`: see kWidestBracket.
std::optional<ReadValue> read_between(const SamplesAround& around, PositionAxis axis, double place,
                                      double end, double widest = kWidestBracket);

/// "380 s", "54 MB", "1200 gradients".
std::string format_on(PositionAxis axis, double value);

}  // namespace acid
