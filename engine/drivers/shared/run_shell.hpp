#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// What every run has, under any driver: its workers, their log, its samples, its cuts and its end.
/// A driver adds a clock, which says when something happens, and a carrier, which takes messages
/// from worker to worker.
///
/// Not thread-safe: the driver says which thread owns which part, and that no worker changes while
/// all of them are read.
class RunShell {
 public:
  struct Options {
    bool gradients = true;  // false: the run computes none, and no memory is reserved for them
    /// The workers live in other processes: here are copies of them, in the host's memory, and
    /// their events are logged there.
    bool elsewhere = false;
    bool computes = true;  // false: only the clock runs, and the outcome has no model
    bool logs = false;  // events are reported even where RunSpec::keep_events does not ask for them
  };
  /// `parallel_for`: evaluates samples.
  RunShell(const Run& its_run, ParallelFor parallel_for, Options options)
      : run(its_run),
        spec(its_run.spec),
        ensemble(spec_of_ensemble(spec, options.elsewhere), its_run.objective, options.gradients),
        log(spec.workers, options.logs || spec.keep_events, its_run.recorder),
        sampler(spec, its_run.objective, its_run.recorder, std::move(parallel_for)),
        computes_(options.computes) {}
  RunShell(const Run& its_run, ParallelFor parallel_for)
      : RunShell(its_run, std::move(parallel_for), Options()) {}

  const Run& run;
  const RunSpec& spec;
  Ensemble ensemble;
  EventLog log;
  Sampler sampler;

  /// A run's position after so many gradients and exchanges, with bytes sent beside messages.
  Position position(std::int64_t gradients, double seconds, std::int64_t exchanges) const {
    return with_extra_bytes(
        spec.after_exchanges(gradients, seconds, exchanges, ensemble.dimension()));
  }
  Position with_extra_bytes(Position here) const {
    here.bytes += ensemble.extra_bytes() + ensemble.bytes_of_visits();
    return here;
  }
  Totals totals(const Position& here, std::int64_t exchanges, double idle_seconds) const {
    return {here, exchanges, spec.learning_rate(here), idle_seconds};
  }
  /// The time to which all workers can be mixed when the run is at t.
  double mixing_time(double t) const { return std::max(t, ensemble.latest_event()); }

  /// The mean and what a sample takes besides, at t, for sampler.take().
  MeanModel measure(double t, std::span<const ExchangeInFlight> in_flight = {},
                    const std::vector<bool>& absent = {}) {
    return log.measure(t, ensemble, look(sampler.sample_times(), t, absent), in_flight);
  }
  /// What the next of these samples needs, taken at t.
  static Look look(const SampleTimes& times, double t, const std::vector<bool>& absent = {}) {
    return {.mean = times.evaluates(t), .workers = times.evaluates_workers(t), .absent = absent};
  }
  /// Whether a sample has found that the run need not go on.
  bool enough() const { return sampler.diverged() || sampler.target_reached(); }

  bool cut_is_due(std::int64_t step, const Position& here) const {
    return checkpoints() != nullptr && checkpoints()->due(step, here);
  }
  /// Normalised time at which the next cut is due at the latest; kNever if only cut_is_due() tells.
  double next_cut() const { return checkpoints() == nullptr ? kNever : checkpoints()->next_time(); }
  /// Whether a run that is stopped at this step must be saved there.
  bool last_cut_is_due(std::int64_t step) const {
    return checkpoints() != nullptr && !checkpoints()->has(step);
  }
  /// Resumes the run's checkpoint. Returns false if it has none: the run begins at its beginning.
  template <class State>
  bool resume(std::string_view layout, State& state) {
    if (run.checkpointing.resume == nullptr) return false;
    load_state(*run.checkpointing.resume, layout, state);
    ensemble.restore(*run.checkpointing.resume);
    return true;
  }
  /// Ends the part of the log that comes before a cut at t.
  void mark_cut(double t) {
    log.mark(EventKind::checkpoint, t, ensemble);
    log.flush();
  }
  /// `more`: vectors of the driver's own.
  template <class State>
  void save(std::int64_t step, const Position& here, std::string_view layout, State& state,
            std::vector<StateVectors> more = {}) const {
    std::vector<StateVectors> vectors = ensemble.vectors();
    std::move(more.begin(), more.end(), std::back_inserter(vectors));
    run.checkpointing.save(step, here, std::move(vectors), layout, state);
  }

  /// The outcome of a run that is stopped and may go on later; the last cut is already saved.
  Outcome stopped(const Position& here) {
    log.flush();
    return ended_early(Ending::stopped, "", here);
  }
  /// The outcome of a run that is over, after its last event, at t. `tell` adds what the driver
  /// knows of a run that reached its end. `notes`: of the gradients since the last sample, in
  /// order.
  template <class Tell>
  Outcome end(double t, const Totals& totals, const GradientRecords& notes, const Tell& tell,
              const std::vector<bool>& absent = {}) {
    log.flush();
    if (sampler.diverged() || any_diverged(notes)) return diverged(sampler, notes, totals.position);
    Outcome outcome = computes_ ? conclude(ensemble, sampler, t, totals, notes, absent)
                                : ended_early(Ending::finished, "", totals.position);
    outcome.exchanges_done = totals.exchanges;
    tell(outcome);
    return outcome;
  }

 private:
  static RunSpec spec_of_ensemble(RunSpec spec, bool elsewhere) {
    if (elsewhere) spec.backend = &cpu_backend();
    return spec;
  }

  const bool computes_;
  Checkpoints* checkpoints() const { return run.checkpointing.checkpoints; }
};

}  // namespace acid
