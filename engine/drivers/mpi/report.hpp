#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

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

/// The vectors of a worker's whole state: in the order of Worker::for_each_vector, no empty ones.
std::vector<std::span<float>> filled_vectors(Worker& worker);
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
