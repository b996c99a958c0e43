#pragma once

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
/// Belongs to the gradient thread. The communication thread fills the worker before the first leg;
/// messages() and the directives pass data between the two.
class RoundWorker {
 public:
  /// The arguments outlive this.
  RoundWorker(const Run& run, const MpiOptions& options, Post& post, RoundDirectives& directives);

  /// The gradient thread's body, from the start of the run to its end.
  void train();

  // For the communication thread, before RoundDirectives::begin().
  Worker& state() { return worker_; }
  Window& window() { return window_; }
  void start(Start& start);

  RoundMessages& messages() { return messages_; }

 private:
  bool act(Phase phase, std::int64_t exchange);
  void compute();
  void step();
  bool may_commit(std::int64_t leg);
  RoundDirectives::Next wait_for_directive(std::int64_t leg);
  bool wait_for_exchange();
  /// Ends a span that began at `since` by the clock. Returns its seconds.
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
  Window window_;
  Reporter reporter_;
  WorkerReport report_;
  Timeline timeline_{1};  // of this worker alone, as number 0
  double loss_ = 0;
  std::optional<double> norm_;
  bool diverged_ = false;
  double started_seconds_ = 0;  // the time of earlier attempts is before it
};

}  // namespace acid
