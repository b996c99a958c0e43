#pragma once

#include <memory>

#include "engine/drivers/shared/player.hpp"
#include "engine/drivers/virtual/timetable.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/drivers/virtual/virtual_workers.hpp"

namespace acid {

/// What a virtual run that goes from event to event consists of, whoever exchanges with whom. The
/// public thread owns everything but what the player's tasks work on.
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
  bool ended = false;     // the budget is used up: what has begun ends, and nothing begins
  Player player;          // after what its tasks use: the members above

  /// One more gradient is over.
  void count_gradient();
  /// Commits a worker's gradient. `what` says the rest, but for the gradient and is_first.
  void commit(Commit what);
  /// Sets `ended` when so many gradients or bytes are; normalised time and seconds are step()'s.
  void look_for_end();
};

/// Who exchanges with whom, when, and what follows from it: the part in which virtual runs that go
/// from event to event differ. Called by VirtualEvents, on the public thread.
class Calendar {
 public:
  virtual ~Calendar() = default;
  virtual std::string_view layout() const = 0;  // Cut::layout
  /// The run begins; or else goes on from this file, whose state and vectors of workers are read.
  virtual void begin() = 0;
  virtual void resume(const CheckpointFile& file) = 0;
  /// When the next exchange is due that no occurrence stands for, in normalised time, and that.
  virtual double next_due() const { return kNever; }
  virtual void handle_due() {}
  /// Of the run's timetable. After the last gradient only what goes on between workers
  /// (goes_on_after_end()), while time stands still.
  virtual void handle(const Occurrence& occurrence) = 0;
  /// What else happens, and when next, in seconds.
  virtual double next_ring() const { return kNever; }
  virtual void handle_ring() {}
  /// For measuring.
  virtual std::vector<ExchangeInFlight> in_flight() { return {}; }
  /// The last gradient is over.
  virtual void end() {}
  /// Vectors of its own, for a checkpoint.
  virtual std::vector<StateVectors> vectors() { return {}; }
  /// The state between two steps, the vectors apart. No light task may be unfinished.
  virtual void persist(ArchiveWriter& archive) = 0;
  virtual void persist(ArchiveReader& archive) = 0;
  virtual void tell(Outcome& outcome) = 0;
};

/// One such run, step by step: the next thing that happens is an exchange that is due, an
/// occurrence, a sample, or the end of the budget.
class VirtualEvents {
 public:
  using MakeCalendar = std::unique_ptr<Calendar> (*)(EventState& state);
  VirtualEvents(const Run& run, const VirtualOptions& options, MakeCalendar make);
  Outcome execute();

 private:
  void save_cut();
  /// One step: the next thing that happens, whatever it is. False when the run is over.
  bool step();
  /// The budget's limits as a normalised time; what happens right at it still counts.
  double time_limit();
  bool diverged() const { return state_.shell.sampler.diverged() || state_.player.diverged(); }
  void take_sample(double time);
  void drain();

  std::unique_ptr<Calendar> calendar_;  // outlives the player, whose tasks use it
  EventState state_;
};

}  // namespace acid
