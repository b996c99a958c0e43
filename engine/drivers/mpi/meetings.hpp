#pragma once

#include <atomic>
#include <deque>
#include <set>
#include <stop_token>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/clock.hpp"
#include "engine/drivers/mpi/coordinator.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "engine/run/outcome.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// One process of an asynchronous run: its worker, a thread that computes gradients, and a thread
/// that talks to the others. docs/MPI.md tells the protocol.
///
/// mutex_ guards the worker and what belongs to it. The gradient being computed reads the snapshot
/// and the gradient buffers without it: they change only in the gradient thread's own events.
class MpiAsync {
 public:
  /// `coordinator`, `collector`: on rank 0 only.
  MpiAsync(const Run& run, const MpiOptions& options, Post& post, Coordinator* coordinator,
           Collector* collector);
  ~MpiAsync();

  /// The gradient thread, from the start of the run to its end.
  void train() EXCLUDES_LOCK(mutex_);
  /// The communication thread, likewise.
  void communicate() EXCLUDES_LOCK(mutex_);
  /// Ends both threads without an end of the run; any thread.
  void abandon() EXCLUDES_LOCK(mutex_);

 private:
  /// How far the exchange of the worker's next edge is. One partner says that it is ready; the
  /// other, once it is ready too, stops its clock and tells its time; the first sets the time of
  /// the exchange and answers. Then either both offer, send and apply, or, where the second can
  /// reach the first's memory, the first lends its vectors and the second changes those of both.
  enum class Stage { none, ready, gone, in_flight, lent };
  struct Mark {
    std::int64_t count = WorkerClock::kFree;
    MarkKind kind = MarkKind::measured;
  };

  /// The next gradient begins with it unless the throttle holds it. False when nothing was
  /// committed, or nothing should be any more.
  bool commit(double loss, double began) EXCLUDES_LOCK(mutex_);
  /// What the worker has done since then, by the clock, ends now. Returns how long that was.
  double end_span(SpanKind kind, double since) REQUIRES_LOCK(mutex_);
  void wait_for_start() EXCLUDES_LOCK(mutex_);
  /// Begins the next gradient, once the throttle lets it, unless one is in flight. False when the
  /// run is closing.
  bool has_gradient() EXCLUDES_LOCK(mutex_);
  bool behind() REQUIRES_LOCK(mutex_);
  void hold_until(double until) EXCLUDES_LOCK(mutex_);
  void stop_training() EXCLUDES_LOCK(mutex_);
  void log(EventKind kind, std::uint64_t exchange = 0) REQUIRES_LOCK(mutex_);

  void deliver(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void started(Start& start) EXCLUDES_LOCK(mutex_);
  void news(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void act() EXCLUDES_LOCK(mutex_);
  void make_due() REQUIRES_LOCK(mutex_);
  bool starts_exchange() REQUIRES_LOCK(mutex_);
  void start_exchange() EXCLUDES_LOCK(mutex_);
  void go(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void answer(const Mail& mail) EXCLUDES_LOCK(mutex_);
  bool leads() const;
  std::span<float> partners_memory();
  void lend(std::int64_t count) EXCLUDES_LOCK(mutex_);
  void exchange(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void take_back(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void exchanged() REQUIRES_LOCK(mutex_);
  void offer(std::int64_t count) REQUIRES_LOCK(mutex_);
  void send_offer(MailKind kind);
  void fetch_offer(const Mail& mail);
  void swap_offers();
  void finish_swap() EXCLUDES_LOCK(mutex_);
  void apply() EXCLUDES_LOCK(mutex_);
  void expect(Stage stage, std::uint64_t number, const Mail& mail) const;
  int partner() const;
  Mark next_mark() const REQUIRES_LOCK(mutex_);
  bool place_mark() EXCLUDES_LOCK(mutex_);
  void tell_closed() EXCLUDES_LOCK(mutex_);
  void tell_progress() EXCLUDES_LOCK(mutex_);
  void send_progress() REQUIRES_LOCK(mutex_);
  // A run that goes on without lost processes (meetings_loss.cpp).
  void testify() REQUIRES_LOCK(mutex_);
  void lose(const Mail& mail) EXCLUDES_LOCK(mutex_);
  void give_up_exchange() REQUIRES_LOCK(mutex_);
  void queue(const DueEdge& edge) REQUIRES_LOCK(mutex_);
  double seconds_to_next_report() const;

  const Run& run_;
  const RunSpec& spec_;
  const MpiOptions& options_;
  Post& post_;
  Coordinator* const coordinator_;
  Collector* const collector_;
  const int rank_;
  const double backlog_limit_;

  Mutex mutex_;
  Condition changed_;  // the gradient thread waits for it
  const WorkerSettings settings_;
  WorkerMemory<float> memory_;
  Worker worker_;  // guarded by mutex_, as above
  Reporter reporter_ GUARDED_BY(mutex_);
  WorkerClock time_ GUARDED_BY(mutex_);
  WorkerReport report_ GUARDED_BY(mutex_);
  Timeline timeline_ GUARDED_BY(mutex_){1};        // of this worker alone, as number 0
  double started_seconds_ GUARDED_BY(mutex_) = 0;  // earlier attempts' time is before it
  EdgeSchedule schedule_ GUARDED_BY(mutex_);
  std::deque<DueEdge> edges_ GUARDED_BY(mutex_);  // due, of this worker; the first may be in flight
  bool in_flight_ GUARDED_BY(mutex_) = false;
  std::vector<bool> gone_ GUARDED_BY(mutex_);  // workers that are lost
  EdgeCounter left_out_ GUARDED_BY(mutex_);    // due exchanges with them that were not applied
  std::int64_t committed_ GUARDED_BY(mutex_) = 0, allowed_ GUARDED_BY(mutex_) = 0;
  bool lent_ GUARDED_BY(mutex_) = false;  // the partner is changing the worker's vectors
  bool begun_ GUARDED_BY(mutex_) = false, closing_ GUARDED_BY(mutex_) = false;
  bool training_over_ GUARDED_BY(mutex_) = false;  // the gradient thread has ended
  bool diverged_ GUARDED_BY(mutex_) = false;

  // The communication thread's own.
  NullRecorder nobody_;
  Sampler sample_times_;  // of samples; measures nothing
  StartReceiver start_;
  Stage stage_ = Stage::none;
  DueEdge edge_;               // of stage_
  std::int64_t offered_ = 0;   // count at which edge_ was offered
  double exchange_began_ = 0;  // by the clock
  bool leaving_ = false;       // our offer is on its way to the partner
  bool swapping_ = false;      // both are, by options_.link
  Arena<float> own_offer_, partner_offer_;
  std::set<std::uint64_t> ready_partners_;  // exchanges for which the partner is ready
  std::int64_t cut_ = WorkerClock::kFree;   // count of the checkpoint to be taken
  std::int64_t end_ = WorkerClock::kFree;
  bool save_at_end_ = false, marked_end_ = false, started_ = false, over_ = false;
  bool must_close_ = false;  // rank 0 waits for our last gradient
  bool told_closed_ = false, told_diverged_ = false, told_stop_ = false;
  bool untold_ = false;  // there is progress that rank 0 does not know of
  std::int64_t told_committed_ = 0;
  double told_seconds_ = 0;
  std::atomic<bool> abandoned_{false};
};

}  // namespace acid
