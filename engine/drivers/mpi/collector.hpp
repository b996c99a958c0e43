#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/window.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// What a worker left at a measured mark: copies that have come to rank 0, or a place in the
/// worker's window, which is free again when this is gone.
class Measured {
 public:
  Measured() = default;
  explicit Measured(std::vector<std::vector<float>> copies)
      : copies_(std::move(copies)), x_(copies_.at(0)), buffers_(copies_.at(1)) {}
  Measured(const Window& form, std::span<float> window, int place)
      : form_(&form),
        window_(window),
        place_(place),
        x_(form.x(window, place)),
        buffers_(form.buffers(window, place)) {}
  Measured(Measured&& other) noexcept { swap(other); }
  Measured& operator=(Measured&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Measured() {
    if (form_ != nullptr) form_->free(window_, place_);
  }
  std::span<const float> x() const { return x_; }
  std::span<const float> buffers() const { return buffers_; }

 private:
  void swap(Measured& other) noexcept;

  std::vector<std::vector<float>> copies_;
  const Window* form_ = nullptr;
  std::span<float> window_;
  int place_ = 0;
  std::span<const float> x_, buffers_;
};

/// One worker at a mark.
struct WorkerMark {
  MarkKind kind = MarkKind::measured;
  double time = 0;
  std::int64_t gradients = 0;  // committed before the mark
  WorkerReport report;
  std::vector<std::byte> numbers;  // from Worker::persist
  Measured measured;               // at a measured mark, once it is gathered
  /// As they arrive. At a mark that is not measured: filled_vectors().
  std::vector<std::vector<float>> vectors;
  bool at_start = false;                  // no vectors come: they are those of the worker's start
  std::size_t expected = 0, arrived = 0;  // vectors
};

/// All workers at one mark, except workers that were lost before it.
struct Gathered {
  MarkKind kind = MarkKind::measured;
  double time = 0;
  std::vector<bool> absent;          // by worker: lost
  std::vector<WorkerMark> workers;   // of absent ones only what WorkerProgress has
  double seconds = 0;                // on the run's clock, when rank 0 looked at it
  std::int64_t bytes_of_visits = 0;  // of hubs until a measured mark

  std::int64_t gradients = 0;  // committed by all before the mark
  bool complete() const { return std::ranges::find(absent, true) == absent.end(); }
  template <class T>
  T sum(T WorkerReport::*part) const {
    T total = 0;
    for (const WorkerMark& worker : workers) total += worker.report.*part;
    return total;
  }
  std::int64_t exchanges() const { return sum(&WorkerReport::exchanges) / 2; }
  /// Reports how each worker spent its time, and its gradients.
  void tell_workers(Outcome& outcome) const;
  /// Takes out the notes of all workers, in commit order.
  GradientRecords take_notes();
  /// The mean at a measured mark over the present workers.
  MeanModel mean(const RunSpec& spec, const Look& look) const;
  /// Puts the state of present workers at any other mark into `ensemble`.
  void restore(Ensemble& ensemble) const;
};

/// The lane for evaluations on the calling thread; gradients on rank 0 use another.
constexpr int kEvaluationLane = 1;
/// How often the calling thread checks what no message reports.
constexpr double kLookSeconds = 0.2;

/// Rank 0's side: passes the workers' events on and puts marks together. Events after a checkpoint
/// mark are held back until the checkpoint is saved, so that they are not recorded before it.
/// deliver() belongs to the communication thread, the rest to the calling thread.
class Collector {
 public:
  explicit Collector(const Run& run, Post& post);

  /// Begins or resumes the run: the progress of every worker, and how many events it has logged,
  /// the last of them at `time`. Called before any event or mark.
  void begin(std::vector<WorkerProgress> all_progress, const std::vector<WorkerReport>& reports,
             double time) EXCLUDES_LOCK(mutex_);
  /// The run goes on without a worker whose progress the Coordinator knows: ends its log, and
  /// gathers the marks that have fully arrived. Returns how far the worker has come; nothing if all
  /// were at the end before. The communication thread's.
  std::optional<WorkerProgress> lose(int worker, WorkerProgress known) EXCLUDES_LOCK(mutex_);

  /// Whether rank 0 can read the window of a process, which has said that it is open. The
  /// communication thread's.
  bool reads_window(int worker) { return !post_.window(worker, window_.size()).empty(); }
  /// Takes a message of the kinds events, mark and state_vector.
  void deliver(const Mail& mail) EXCLUDES_LOCK(mutex_);
  /// The next mark that all have reached; waits at most this long for it. Marks come in order, and
  /// none after a checkpoint before go_on().
  std::optional<Gathered> wait(double seconds) EXCLUDES_LOCK(mutex_);
  /// The gathered checkpoint is saved.
  void go_on() EXCLUDES_LOCK(mutex_);
  /// Whether so many marks wait that no more should come. Any thread.
  bool overloaded() EXCLUDES_LOCK(mutex_);
  /// Ends a wait(); any thread.
  void wake() EXCLUDES_LOCK(mutex_);

 private:
  struct Events {
    std::int64_t first = 0;
    std::vector<Event> list;
  };
  /// One worker's events and marks, in order.
  struct Item {
    std::optional<Events> events;
    std::shared_ptr<WorkerMark> mark;
  };
  using Queue = std::deque<Item>;

  /// What has arrived of one worker's log and marks.
  struct Seen {
    WorkerProgress progress;
    std::int64_t events = 0;        // the number of the next event
    double time = 0;                // of the last event
    std::int64_t marks_logged = 0;  // since the run began or was resumed; the end is not logged
    std::int64_t marks_taken = 0;
    bool lost = false;
  };
  void take_events(Events events, std::size_t w) REQUIRES_LOCK(mutex_);
  std::int64_t drop_broken_marks(Queue& queue) REQUIRES_LOCK(mutex_);
  void take_vector(const Mail& mail, std::size_t w) REQUIRES_LOCK(mutex_);
  void merge() REQUIRES_LOCK(mutex_);
  bool all_at_mark() const REQUIRES_LOCK(mutex_);
  Gathered take_mark() REQUIRES_LOCK(mutex_);

  Recorder& recorder_;
  Post& post_;
  const Objective& objective_;
  const Window window_;
  Mutex mutex_;
  Condition changed_;
  const bool keeps_events_;
  bool over_ GUARDED_BY(mutex_) = false;       // all were at the end
  std::vector<Seen> seen_ GUARDED_BY(mutex_);  // by worker
  std::vector<Queue> queues_ GUARDED_BY(mutex_);
  std::vector<GradientRecords> notes_ GUARDED_BY(mutex_);  // by worker, of the next mark
  /// The marks whose vectors are still on their way, by worker.
  std::vector<std::deque<std::shared_ptr<WorkerMark>>> open_ GUARDED_BY(mutex_);
  std::deque<Gathered> gathered_ GUARDED_BY(mutex_);
  int marks_ GUARDED_BY(mutex_) = 0;  // of single workers, not yet handled
  bool held_ GUARDED_BY(mutex_) = false;
  bool woken_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid
