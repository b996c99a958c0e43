#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/mpi/window.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// A place in the life of every worker at which rank 0 measures all of them, in the same order for
/// each.
enum class MarkKind : std::uint8_t {
  measured,
  checkpoint,
  last_checkpoint,  // the run stops here and may be resumed
  end,
};

/// A worker's report at a mark, besides its vectors.
struct WorkerReport {
  GradientRecords notes;  // since the last measured mark, in commit order; sent in portions
  double idle_seconds = 0;
  std::int64_t exchanges = 0;    // of this worker
  std::int64_t extra_bytes = 0;  // to this worker, beside messages; filled in by the Reporter
  std::int64_t holds = 0;
  bool computing = false;   // a gradient has begun and is not committed
  std::int64_t events = 0;  // logged so far; filled in by the Reporter
  std::vector<Span> spans;  // see Timeline; only at the end
  std::vector<EdgeUse>
      left_out;  // due exchanges with lost workers that were not applied; only at the end
  template <class Archive>
  void persist(Archive& archive) {
    archive(notes, idle_seconds, exchanges, extra_bytes, holds, computing, events, spans, left_out);
  }
};

/// In a mark's message, instead of a place: the vectors follow as messages, or are still those of
/// the worker's start, which rank 0 knows.
constexpr int kNoPlace = -1, kAtStart = -2;

/// A worker's progress, as rank 0 knows it.
struct WorkerProgress {
  std::int64_t gradients = 0, exchanges = 0, extra_bytes = 0;  // as WorkerReport
};

/// Adds a portion of notes to the earlier ones.
void read_notes(MailReader& reader, GradientRecords& notes);

/// Reports to rank 0 what happens to this process's worker: its events, and at marks its report
/// with a copy of its vectors. Called by the thread that may change the worker at the moment; never
/// by two at once.
class Reporter {
 public:
  /// The arguments outlive this; `worker` is this process's, and so is `memory`, its window's.
  Reporter(const Run& run, Post& post, const Worker& worker, const Window& window,
           std::span<float> memory);

  /// Takes this worker's events.
  EventLog& log() { return log_; }
  /// measured: x and buffers, mixed to `time`. Otherwise: the whole state.
  void mark(MarkKind kind, double time, Worker& worker, WorkerReport report);

 private:
  /// Sends portions of the log on.
  class Forward final : public NullRecorder {
   public:
    Forward(Post& post, const Worker& worker) : post_(post), worker_(worker) {}
    void events(int worker, std::int64_t first, std::span<const Event> events) override;

   private:
    Post& post_;
    const Worker& worker_;
  };

  void leave_copy(double time, const Worker& worker, std::span<float> x, std::span<float> buffers);
  bool is_start(std::span<const float> x, std::span<const float> buffers) const;

  const Run& run_;
  const int rank_;
  Post& post_;
  const Window& window_;
  const std::span<float> memory_;
  Forward forward_;
  EventLog log_;
};

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
  /// As they arrive. At a mark that is not measured: in the order of Worker::for_each_vector, no
  /// empty ones.
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

/// How a worker begins: rank 0's `start` message and, in a resumed run, its start_vector messages.
struct Start {
  bool resumed = false;
  std::vector<std::byte> numbers;  // from Worker::persist
  WorkerReport report;             // as of the checkpoint
  std::vector<std::byte> more;     // the driver's own, the same for all
  int vectors = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(resumed, numbers, report, more, vectors);
  }
};
/// Sends the start from rank 0 to all processes, itself included. Without an ensemble the run
/// starts at its beginning.
void send_start(Post& post, Ensemble* ensemble, const std::vector<WorkerReport>& reports,
                const std::vector<std::byte>& more);

/// Puts together what send_start() sends, and fills the worker with it. Belongs to the
/// communication thread.
class StartReceiver {
 public:
  /// `complete` is called once everything has arrived; until then no other code uses the worker.
  StartReceiver(Post& post, Worker& worker, std::function<void(Start&)> complete);
  /// Takes a message of the kinds start, start_notes and start_vector.
  void deliver(const Mail& mail);

 private:
  void fetch(const Mail& mail, std::uint64_t index);
  void arrived();

  Post& post_;
  Worker& worker_;
  const std::function<void(Start&)> complete_;
  Start start_;
  GradientRecords notes_;  // they come first
  int missing_ = 0;        // the start and its vectors
};

}  // namespace acid
