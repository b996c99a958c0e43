#pragma once

#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/run/ensemble.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/run/sample_times.hpp"

namespace acid {

/// Whether the loss is finite in 32 bits, as parameters are. NaN is not.
inline bool can_be_loss(double loss) {
  return std::abs(loss) <= static_cast<double>(std::numeric_limits<float>::max());
}

/// The record of one committed gradient, until the next sample.
struct GradientRecord {
  int worker = 0;
  std::int64_t step = 0;
  double loss = 0;
  std::int64_t staleness = 0;
  double norm = -1;   // for a worker's first gradient since the last sample; otherwise −1
  Position position;  // right after the commit
  template <class Archive>
  void persist(Archive& archive) {
    archive(worker, step, loss, staleness, norm, position);
  }
};
/// A deque: notes are filled in where they stand while more are added.
using GradientRecords = std::deque<GradientRecord>;
/// The first note whose loss is not can_be_loss(): there the run has diverged. Otherwise the end.
GradientRecords::const_iterator first_diverged(const GradientRecords& notes);
inline bool any_diverged(const GradientRecords& notes) {
  return first_diverged(notes) != notes.end();
}

/// Sorts notes by position.gradients, then by worker, keeping the order of each worker: the order
/// in which samples take them. It is the order of the commits, except that numbers repeat under
/// mpi.
void sort_by_commit(GradientRecords& notes);

/// Totals a driver keeps while it runs.
struct Totals {
  Position position;
  std::int64_t exchanges = 0;
  double learning_rate = 0;
  double idle_seconds = 0;  // summed over workers
  template <class Archive>
  void persist(Archive& archive) {
    archive(position, exchanges, learning_rate, idle_seconds);
  }
};

struct NoteSums {
  std::int64_t count = 0, norms = 0;
  double loss = 0, staleness = 0, norm = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(count, norms, loss, staleness, norm);
  }
};

/// Takes the samples that SampleTimes has due. Owned by the thread that measures.
class Sampler {
 public:
  Sampler(const RunSpec& spec, Objective& objective, Recorder& recorder, ParallelFor parallel_for);

  const SampleTimes& sample_times() const { return sample_times_; }

  /// Takes the sample that is due, at the run's position, which may be later, and moves past it.
  /// `notes`: the gradients committed since the last sample, in commit order.
  void take(const MeanModel& mean, const Totals& totals, const GradientRecords& notes);
  /// Adds notes to the next sample's, before those given to take(), so that the driver need not
  /// keep them.
  void gather(const GradientRecords& notes);
  /// Sums of the notes gathered since the last sample. Not part of persist().
  NoteSums& gathered() { return gathered_; }
  /// Moves past a sample that another execution of the run took here, after so many exchanges.
  void pass(const Position& here, std::int64_t exchanges);
  /// The sample after the last event: always evaluates, workers too if the spec says so. Values
  /// that a sample of the same state has recorded are not recorded twice.
  void take_final(const MeanModel& mean, const Ensemble& ensemble, const Totals& totals,
                  const GradientRecords& notes);

  /// After a loss that is not finite, which one of the notes must have: records the notes up to it,
  /// at its position, so that the record does not depend on how far other workers were ahead.
  /// Components of the position below the last sample's are raised to it. Returns what happened.
  std::string take_diverged(GradientRecords notes, Position* position);

  /// Set once a budget target has been reached.
  const std::optional<std::string>& target_reached() const { return target_reached_; }
  /// Set once something measured was not finite; says what.
  const std::optional<std::string>& diverged() const { return diverged_; }

  /// Number of gradients recorded so far by staleness 0, 1, 2, …, as long as needed. The entry
  /// kStalest counts that and more.
  static constexpr std::int64_t kStalest = 255;
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

  /// Samples of this execution that were skipped because the run was already past them. Not part of
  /// persist().
  const SkippedSamples& skipped() const { return skipped_; }

  /// Not for a run that has reached its target or diverged.
  template <class Archive>
  void persist(Archive& archive) {
    archive(last_, sample_times_, last_finite_loss_, staleness_);
  }

 private:
  struct Values;
  void diverge(std::string what);
  void add_notes(Values& values, const GradientRecords& notes);
  void count_staleness(std::int64_t staleness);
  void begin(Values& values, const MeanModel& mean, const Totals& totals,
             const GradientRecords& notes);
  /// The mean of workers is known to about 2⁻²⁴ of their distance, times a margin for many workers
  /// and steps. If it and the start of worker 0 are shorter than this share of the distance, the
  /// workers have blown up and their mean has no meaning.
  static constexpr double kKnownOfMean = 0x1p-20;
  void look_for_blow_up(const MeanModel& mean);
  void evaluate_mean(Values& values, const MeanModel& mean);
  /// A worker's own model; borrows its memory.
  struct Model {
    int worker = 0;
    std::span<const float> x, buffers;
  };
  void evaluate_workers(Values& values, const std::vector<Model>& models);
  void look_for_target(const Values& values);

  const RunSpec& spec_;
  Objective& objective_;
  Recorder& recorder_;
  ParallelFor parallel_for_;
  /// Metrics of Objective::evaluated_names(), on the test and the validation set.
  std::vector<std::pair<std::string, std::string>> named_;
  struct Taken {
    Position position;
    std::int64_t exchanges = 0;  // finished by then
    bool evaluated = false;
    template <class Archive>
    void persist(Archive& archive) {
      archive(position, exchanges, evaluated);
    }
  };
  std::optional<Taken> last_;
  SampleTimes sample_times_;
  std::optional<std::string> target_reached_, diverged_;
  std::optional<double> last_finite_loss_;
  std::vector<std::int64_t> staleness_;
  NoteSums gathered_;
  SkippedSamples skipped_;
};

}  // namespace acid
