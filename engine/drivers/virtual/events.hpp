#pragma once

#include <memory>

#include "engine/drivers/shared/player.hpp"
#include "engine/drivers/virtual/timetable.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/drivers/virtual/virtual_workers.hpp"

namespace acid {

/// The state of a virtual run that goes from event to event, for any way of exchanging. The public
/// thread owns everything but what the player's tasks work on.
struct EventState {
  EventState(const Run& its_run, const VirtualOptions& its_options);

  const Run& run;
  const RunSpec& spec;
  const VirtualOptions& options;
  RunShell shell;
  Timetable timetable;
  VirtualWorkers workers;
  Totals totals;
  GradientRecords notes;  // since the last sample
  bool ended = false;     // the budget is used up: what has begun ends, and nothing new begins
  Player player;          // declared after the members above, which its tasks use

  /// Counts one more gradient that is over.
  void count_gradient();
  /// Commits a worker's gradient. `what` says the rest, without the gradient and is_first.
  void commit(Commit what);
  /// Sets `ended` after the budget's gradients or bytes; step() handles normalised time and
  /// seconds.
  void look_for_end();
};

/// Which workers exchange, when, and what follows from it: the part in which virtual runs that go
/// from event to event differ. Called by VirtualEvents, on the public thread.
class Calendar {
 public:
  virtual ~Calendar() = default;
  /// Begins the run; resume() resumes one from this file, whose state and workers are read.
  virtual void begin() = 0;
  virtual void resume(const CheckpointFile& file) = 0;
  /// The normalised time of the next due exchange without an occurrence; handle_due() does it.
  virtual double next_due() const { return kNever; }
  virtual void handle_due() {}
  /// Handles an occurrence of the run's timetable. After the last gradient only exchanges between
  /// workers are left (goes_on_after_end()), while time stands still.
  virtual void handle(const Occurrence& occurrence) = 0;
  /// The seconds at which the next other event happens; handle_ring() does it.
  virtual double next_ring() { return kNever; }
  virtual void handle_ring() {}
  /// The exchanges in flight, for a measurement.
  virtual std::vector<ExchangeInFlight> in_flight() { return {}; }
  /// Called when the last gradient is over.
  virtual void end() {}
  /// The calendar's own vectors, for a checkpoint.
  virtual std::vector<StateVectors> vectors() { return {}; }
  /// The state between two steps, without vectors. No light task may be unfinished.
  virtual void persist(ArchiveWriter& archive) = 0;
  virtual void persist(ArchiveReader& archive) = 0;
  virtual void tell(Outcome& outcome) = 0;
};

/// A virtual run, step by step: the next thing that happens is a due exchange, an occurrence, a
/// sample, or the end of the budget.
class VirtualEvents {
 public:
  using MakeCalendar = std::unique_ptr<Calendar> (*)(EventState& state);
  VirtualEvents(const Run& run, const VirtualOptions& options, MakeCalendar make);
  Outcome execute();

 private:
  void save_cut();
  /// Does the next thing that happens. Returns false when the run is over.
  bool step();
  /// The budget's limits as a normalised time; what happens exactly at it still counts.
  double time_limit();
  bool diverged() const { return state_.shell.sampler.diverged() || state_.player.diverged(); }
  void take_sample(double time);
  void drain();

  std::unique_ptr<Calendar> calendar_;  // outlives the player, whose tasks use it
  EventState state_;
};

}  // namespace acid
