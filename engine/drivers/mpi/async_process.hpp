#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "engine/drivers/mpi/async_evaluator.hpp"
#include "engine/drivers/mpi/clock.hpp"
#include "engine/drivers/mpi/collector.hpp"
#include "engine/drivers/mpi/gradient_thread.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/pair_exchange.hpp"
#include "engine/drivers/mpi/process.hpp"
#include "engine/drivers/mpi/progress.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/server_visits.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"
#include "engine/run/sample_times.hpp"

namespace acid {

/// The next mark of a worker of an asynchronous run: the same for all workers, because rank 0
/// announces a checkpoint, a sample by the clock and the end while their clocks stand still.
/// Belongs to the communication thread.
class Marks {
 public:
  struct Next {
    std::int64_t count = WorkerClock::kFree;  // of the worker's clock
    MarkKind kind = MarkKind::measured;
  };

  explicit Marks(const RunSpec& spec) : spec_(spec), sample_times_(spec.cadence) {}

  /// Begins or resumes the run. All know the first sample by the clock, which is of the start.
  void begin() {
    if (sample_times_.next_seconds() == 0) cut_at(0, true);
  }
  /// `sample`: only measures; ignored after the last gradient, where the final sample is.
  void cut_at(std::int64_t count, bool sample) {
    if (sample && count >= spec_.budget.gradients) return;
    cut_ = count;
    cut_kind_ = sample ? MarkKind::measured : MarkKind::checkpoint;
  }
  /// `save`: with a checkpoint.
  void end_at(std::int64_t count, bool save) {
    end_ = count;
    save_at_end_ = save;
  }

  // A sample at the very end is the final one.
  Next next() const {
    Next next;
    const double sample = std::ceil(sample_times_.next() * spec_.workers - 1e-9);
    const auto most = static_cast<double>(std::min(spec_.budget.gradients - 1, end_));
    if (sample <= most) next = {static_cast<std::int64_t>(sample), MarkKind::measured};
    if (cut_ < next.count) next = {cut_, cut_kind_};
    if (end_ < next.count && !marked_end_)
      next = {end_, save_at_end_ ? MarkKind::last_checkpoint : MarkKind::end};
    return next;
  }
  /// The worker has reached that mark, at normalised time `t`.
  void pass(MarkKind kind, double t) {
    if (kind == MarkKind::measured && !spec_.cadence.by_clock())
      sample_times_.pass({.gradients = 0, .normalised_time = t, .seconds = 0, .bytes = 0},
                         spec_.workers);
    else if (kind == MarkKind::checkpoint || kind == MarkKind::measured)
      cut_ = WorkerClock::kFree;
    else
      marked_end_ = true;
  }

  template <class Archive>
  void persist(Archive& archive) {
    archive(sample_times_);
  }

 private:
  const RunSpec& spec_;
  SampleTimes sample_times_;
  std::int64_t cut_ = WorkerClock::kFree, end_ = WorkerClock::kFree;
  MarkKind cut_kind_ = MarkKind::checkpoint;
  bool save_at_end_ = false, marked_end_ = false;
};

/// One process of an asynchronous run: the training thread computes gradients. docs/MPI.md explains
/// the protocol. Both threads share the worker, under its mutex.
class AsyncProcess final : public Process {
 public:
  AsyncProcess(const Run& run, const MpiOptions& options, Post& post, AsyncEvaluator* evaluator,
               Collector* collector);

 private:
  Window& window() override { return worker_.window(); }
  void train() override { gradients_.train(); }
  void deliver_own(const Mail& mail) override;
  double act() override;
  void release() override;
  void started(Start& start);
  void hear_clock(MailReader& reader);
  void promise_cut();
  void stop_clock_at_next_mark() REQUIRES_LOCK(worker_.mutex);
  void lose(const Mail& mail);
  void act_on_marks();
  bool place_mark();
  bool is_idle() REQUIRES_LOCK(worker_.mutex);
  void tell_closed();

  AsyncCoordinator* const async_coordinator_;  // on rank 0
  MpiServer* const server_;                    // on rank 0, if the method has a server
  const int rank_;
  SharedWorker worker_;
  std::optional<ServerVisits> visits_;  // if the method has a server
  GradientThread gradients_;
  Progress progress_;
  PairExchange exchange_;
  Marks marks_;
  StartReceiver start_;
  bool started_ = false;
  bool must_promise_ = false;  // a cut was asked for before the start was complete
  std::int64_t granted_ = 0;   // gradients at the start
  bool must_close_ = false;    // rank 0 waits for our last gradient
  bool told_closed_ = false;
};

}  // namespace acid
