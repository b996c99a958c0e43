#pragma once

#include <cstdint>

#include "engine/run/run_spec.hpp"

namespace acid {

/// When samples are due: as the cadence says, from 0 on, or, in a repeated run, where they were. A
/// plain value; every operation takes constant time for any cadence.
class SampleTimes {
 public:
  /// `cadence` outlives it.
  explicit SampleTimes(const Cadence& cadence) : cadence_(&cadence) {}

  /// Normalised time of the next sample; kNever where samples are by the clock.
  double next() const;
  /// Seconds of the next sample; kNever where they are by normalised time.
  double next_seconds() const;
  /// Whether a sample is to be taken now that the run has come this far.
  bool due(const Position& here) const;
  /// Whether the next sample, taken at that normalised time, evaluates the model.
  bool evaluates(double time) const;
  /// Whether it needs the workers' own models too (Look::workers).
  bool evaluates_workers(double time) const {
    return cadence_->workers == WorkerEvaluation::always && evaluates(time);
  }
  /// Notes that a sample was taken here. Returns how many others were due and are skipped; samples
  /// that are due at the same number of gradients count once.
  SkippedSamples pass(const Position& here, int workers);
  /// The same for the last sample, at the end of the run.
  SkippedSamples end(const Position& here, int workers);

  template <class Archive>
  void persist(Archive& archive) {
    archive(consensus_count_, evaluation_count_);
  }

 private:
  /// The moments that were passed: at how many numbers of gradients, and whether the last is now.
  struct Passed {
    std::int64_t places = 0;
    bool now = false;
  };
  template <class Moments>
  static Passed move_on(const Moments& moment, std::int64_t& count, double now, int workers);
  template <class Skipped>
  SkippedSamples move_both(double now, int workers, const Skipped& skipped);
  double next_of_consensus() const;

  const Cadence* cadence_;
  std::int64_t consensus_count_ = 0, evaluation_count_ = 0;  // moments passed of each
};

}  // namespace acid
