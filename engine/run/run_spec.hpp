#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/methods/method.hpp"
#include "engine/recorder/recorder.hpp"
#include "engine/recorder/span.hpp"
#include "engine/topology/topology.hpp"
#include "engine/worker/backend.hpp"
#include "engine/worker/optimizer.hpp"

namespace acid {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// When a run ends, whichever comes first.
struct Budget {
  std::int64_t gradients = 0;       // total, committed; the expected total of a time budget
  double normalised_time = kNever;  // if finite, it is the limit instead of `gradients`
  double seconds = kNever;
  double bytes = kNever;
  struct Target {
    std::string metric;  // metrics.hpp says whether `value` is a minimum or a maximum
    double value = 0;
  };
  std::optional<Target> target;  // checked at every evaluation

  /// Whether the budget of gradients, seconds or bytes is used up; normalised time is not checked.
  bool spent(const Position& here) const {
    return here.gradients >= gradients || here.seconds >= seconds ||
           static_cast<double>(here.bytes) >= bytes;
  }

  /// Global progress in [0, 1]: of normalised time if that is the limit, so that a schedule lasts
  /// as long as the run, otherwise of gradients.
  double progress(const Position& here) const {
    return std::min(1.0, normalised_time < kNever ? here.normalised_time / normalised_time
                                                  : static_cast<double>(here.gradients) /
                                                        static_cast<double>(gradients));
  }
};

/// When each worker's own model is evaluated too; as many evaluations as there are workers.
enum class WorkerEvaluation { never, at_end, always };

/// How often samples are taken, in normalised time or in seconds.
struct Cadence {
  double consensus_every = 1;
  /// Not 0: samples of the consensus distance over the whole run, denser at its start, in place of
  /// consensus_every. They begin one unit of normalised time apart, or closer if all are, and the
  /// distance grows evenly, at whole units in the first case.
  std::int64_t consensus_samples = 0;
  double end = kNever;  // normalised time at which the run is expected to end; for these samples
  double evaluate_every = kNever;
  /// Finite: samples go by the wall clock, each evaluates, and the two above are kNever. Under mpi
  /// it is the clock of rank 0, which stops the normalised clocks to place a sample.
  double every_seconds = kNever;
  bool by_clock() const { return every_seconds < kNever; }
  /// For repeating a run: its samples by the clock, in gradients, ascending. Replaces
  /// every_seconds.
  std::optional<std::vector<std::int64_t>> at_gradients = {};
  WorkerEvaluation workers = WorkerEvaluation::at_end;
};

/// The learning rate that is planned for each worker's gradient of this number, from 1.
inline double planned_rate(const Schedule& schedule, const Budget& budget, int workers,
                           std::int64_t number) {
  return schedule.rate(budget.progress(
      {.gradients = number * workers, .normalised_time = static_cast<double>(number)}));
}

/// A run as the drivers see it: everything that a driver may not decide itself.
struct RunSpec {
  int workers = 1;
  const Topology* topology = nullptr;  // outlives the run
  bool reads_graph = true;             // false: `topology` is not used
  Method method;
  OptimizerSettings optimizer;
  Schedule schedule;
  Budget budget;
  Cadence cadence;
  Seeds seeds;
  const Backend* backend = &cpu_backend();  // of the workers' vectors; outlives the run
  double max_backlog = 4;       // due edges a worker may have waiting, times max(1, Λᵢᵢ)
  bool average_buffers = true;  // false: see MeanModel::buffers
  bool keep_events = false;     // report the event log
  /// In simulated time: elements of a vector of the large model for whose messages those of the run
  /// stand. Whatever such a message costs and counts is that of the large model.
  std::optional<std::size_t> stands_for = {};
  int threads_per_worker = 1;  // for acid's own kernels; models have their own setting
  /// Synchronous methods on threads: the run ends after this many gradients, not at its target or
  /// budget; the budget still sets the learning rate. For repeating a run that the clock ended,
  /// which noticed its target a little after reaching it.
  std::int64_t end_at_gradients = kNoEnd;
  static constexpr std::int64_t kNoEnd = std::numeric_limits<std::int64_t>::max();

  /// Whether the budget is spent or end_at_gradients is reached.
  bool is_over(const Position& here) const {
    return budget.spent(here) || here.gradients >= end_at_gradients;
  }
  double learning_rate(const Position& here) const { return schedule.rate(budget.progress(here)); }
  /// That of what a worker sends before its first gradient.
  double first_rate() const { return planned_rate(schedule, budget, workers, 1); }
  /// The position of a run of rounds after so many legs, each with one gradient of every worker.
  /// `bytes`: sent until then.
  Position after_legs(std::int64_t legs, double seconds, std::int64_t bytes) const {
    return {.gradients = legs * workers,
            .normalised_time = static_cast<double>(legs),
            .seconds = seconds,
            .bytes = bytes};
  }
  /// The position of a run of pairwise exchanges of vectors of `dimension` floats.
  Position after_exchanges(std::int64_t gradients, double seconds, std::int64_t exchanges,
                           std::size_t dimension) const {
    return {.gradients = gradients,
            .normalised_time = static_cast<double>(gradients) / workers,
            .seconds = seconds,
            .bytes = exchanges * bytes_per_exchange(dimension)};
  }
  /// Elements of a vector as messages count it, where the run's own has `dimension`.
  std::size_t travelling(std::size_t dimension) const { return stands_for.value_or(dimension); }
  /// One message each way.
  std::int64_t bytes_per_exchange(std::size_t dimension) const {
    return static_cast<std::int64_t>(method.bytes_per_exchange(travelling(dimension)).both());
  }
  /// With more due edges waiting, the worker holds its next gradient (docs/SEMANTICS.md, Throttle).
  double backlog_limit(int worker) const;
};

enum class Ending { finished, stopped, diverged };

struct EdgeUse {
  int i = 0, j = 0;
  std::int64_t count = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(i, j, count);
  }
};

/// Samples that a run against the clock skipped, because it was already past them.
struct SkippedSamples {
  std::int64_t samples = 0;  // of the consensus distance
  std::int64_t evaluations = 0;
  SkippedSamples& operator+=(const SkippedSamples& other) {
    samples += other.samples;
    evaluations += other.evaluations;
    return *this;
  }
};

/// What a run leaves behind. Vectors are indexed by worker.
struct Outcome {
  Ending ending = Ending::finished;
  std::string message;  // why it diverged, or which limit or target ended it early
  Position position;
  std::vector<std::string> worker_digests;  // empty for workers that were lost
  std::string mean_digest;
  std::vector<float> mean;          // the final model: exact mean, rounded once
  std::vector<float> mean_buffers;  // empty where the mean has none of its own
  std::vector<std::int64_t> worker_gradients;
  std::vector<double> worker_idle_seconds;
  std::vector<std::int64_t> staleness;          // gradients by staleness, see Sampler::staleness()
  std::vector<std::vector<Span>> worker_spans;  // see Timeline; of the first workers
  std::vector<EdgeUse> edges;                   // used ones, ordered by (i, j)
  std::int64_t exchanges_drawn = 0;             // due by the end
  std::int64_t exchanges_done = 0;     // always equal to exchanges_drawn unless stopped early
  std::int64_t exchanges_waiting = 0;  // due but not started when the last gradient committed
  std::int64_t holds = 0;              // times a worker held its next gradient (throttle)
  SkippedSamples skipped;              // in this execution
};

}  // namespace acid
