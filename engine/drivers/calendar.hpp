#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/drivers/run_spec.hpp"

namespace acid {

/// When samples are due: at the multiples of a cadence, from 0 on, or where they were when they are
/// taken again. A plain value; every operation takes the same time however fine the cadence is.
class Calendar {
 public:
  /// `cadence` outlives the calendar.
  explicit Calendar(const Cadence& cadence) : cadence_(&cadence) {}

  /// Normalised time of the next sample; kNever where samples are by the clock.
  double next() const;
  /// Seconds of the next sample; kNever where they are by normalised time.
  double next_seconds() const;
  /// Whether a sample is to be taken now that the run has come this far.
  bool due(const Position& here) const;
  /// Whether the next sample evaluates the model.
  bool evaluates() const;
  /// A sample has been taken here.
  void pass(const Position& here);

  template <class Archive>
  void persist(Archive& archive) {
    archive(consensus_count_, evaluation_count_);
  }

 private:
  bool by_clock() const { return cadence_->every_seconds < kNever; }

  const Cadence* cadence_;
  std::int64_t consensus_count_ = 0, evaluation_count_ = 0;  // multiples passed of each cadence
};

}  // namespace acid
