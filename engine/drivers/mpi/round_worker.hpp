#pragma once

#include <vector>

#include "engine/drivers/mpi/gradient_pace.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/round_directives.hpp"
#include "engine/drivers/mpi/round_messages.hpp"
#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/run/run.hpp"

namespace acid {

/// The worker of one process of a synchronous run, and the thread that takes it through the legs:
/// computes gradients and changes the worker. Legs, events and bits are those of ThreadsSync.
///
/// All of it is the gradient thread's, but for the communication thread's filling the worker before
/// the first leg, and what messages() and the directives hand from one to the other.
class RoundWorker {
 public:
  /// All outlive it.
  RoundWorker(const Run& run, const MpiOptions& options, Post& post, RoundDirectives& directives);

  /// What the gradient thread does, from the start of the run to its end.
  void train();

  // The communication thread's, before RoundDirectives::begin().
  Worker& state() { return worker_; }
  void start(Start& start);

  RoundMessages& messages() { return messages_; }

 private:
  bool act(Phase phase, std::int64_t exchange);
  void compute();
  void step();
  bool may_commit(std::int64_t leg);
  RoundDirectives::Next wait_for_directive(std::int64_t leg);
  bool wait_for_exchange();
  /// What the worker has done since then, by the clock, ends now. Returns how long that was.
  double end_span(SpanKind kind, double since);

  const Run& run_;
  const double slow_factor_;
  Post& post_;
  RoundDirectives& directives_;
  const int rank_;
  const PeerSchedule peers_;
  const WorkerSettings settings_;
  GradientPace pace_;
  WorkerMemory<float> memory_;
  Worker worker_;
  RoundMessages messages_;
  Reporter reporter_;
  WorkerReport report_;
  Timeline timeline_{1};  // of this worker alone, as number 0
  double loss_ = 0;
  std::optional<double> norm_;
  bool diverged_ = false;
  double started_seconds_ = 0;  // earlier attempts' time is before it
};

}  // namespace acid
