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

/// Whether a task can have such a loss: of parameters in 32 bits it is a number that 32 bits hold.
inline bool can_be_loss(double loss) {
  return std::abs(loss) <= static_cast<double>(std::numeric_limits<float>::max());
}

/// What one committed gradient tells; gathered between samples.
struct GradientRecord {
  int worker = 0;
  std::int64_t step = 0;
  double loss = 0;
  std::int64_t staleness = 0;
  double norm = -1;   // of a worker's first gradient since the last sample; else −1
  Position position;  // right after the commit
  template <class Archive>
  void persist(Archive& archive) {
    archive(worker, step, loss, staleness, norm, position);
  }
};
/// A deque: notes are filled in where they stand while more are added.
using GradientRecords = std::deque<GradientRecord>;
/// The first whose loss is none, else the end: there the run has diverged.
GradientRecords::const_iterator first_diverged(const GradientRecords& notes);
inline bool any_diverged(const GradientRecords& notes) {
  return first_diverged(notes) != notes.end();
}

/// Brings notes, those of each worker in its own order, into the order in which samples take them:
/// by position.gradients, then by worker. That is the order of the commits where one clock counts
/// them all; under mpi numbers repeat.
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

/// Notes of which only the sums are left.
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

  /// Takes the sample that is due (or wherever the run stands now, if later) and moves on
  /// past it. `notes` are the gradients committed since the last sample, in commit order.
  void take(const MeanModel& mean, const Totals& totals, const GradientRecords& notes);
  /// The next sample will count these notes, which come before those it is given: for a driver that
  /// does not want to keep them all that long.
  void gather(const GradientRecords& notes);
  /// What has been gathered since the last sample. Not part of persist(): only drivers that gather
  /// have any.
  NoteSums& gathered() { return gathered_; }
  /// Moves past the sample that another execution of the run took here, after so many
  /// exchanges.
  void pass(const Position& here, std::int64_t exchanges);
  /// The sample at the end, after the last event: always evaluates, and evaluates workers when the
  /// spec says so. What a sample of this very state has recorded is not recorded twice.
  void take_final(const MeanModel& mean, const Ensemble& ensemble, const Totals& totals,
                  const GradientRecords& notes);

  /// A loss was not finite: records the notes up to the first such gradient, at its position, so
  /// that what is recorded does not depend on how far other workers had run ahead. Components of
  /// that position that are below the last sample's are raised to it, so positions never decrease.
  /// Returns what happened; asserts that one of the notes has a loss that is not finite.
  std::string take_diverged(GradientRecords notes, Position* position);

  /// Set once a budget target has been reached.
  const std::optional<std::string>& target_reached() const { return target_reached_; }
  /// Set once something measured was not finite; says what.
  const std::optional<std::string>& diverged() const { return diverged_; }

  /// Gradients recorded so far by their staleness 0, 1, 2, …; the last place counts those of
  /// kStalest and more. As long as needed.
  static constexpr std::int64_t kStalest = 255;
  const std::vector<std::int64_t>& staleness() const { return staleness_; }

  /// Of the sample times up to the last, the end's included: how much fell out because the run
  /// was past it before it could be taken. Not part of persist(): this execution's alone.
  const SkippedSamples& skipped() const { return skipped_; }

  /// Which samples are still due. Not once the run has reached its target or diverged.
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
  /// A mean that workers far apart leave is known to some 2⁻²⁴ of how far they are, times what many
  /// of them and many steps add: where it, and the start of worker 0, are shorter than that, the
  /// workers have blown up and their mean says nothing.
  static constexpr double kKnownOfMean = 0x1p-20;
  void look_for_blow_up(const MeanModel& mean);
  void evaluate_mean(Values& values, const MeanModel& mean);
  /// A worker's own model, wherever it is kept.
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
