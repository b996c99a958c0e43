#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/mutex.hpp"
#include "engine/recorder/recorder.hpp"
#include "store/store.hpp"

namespace acid {

/// What was recorded since the last transaction.
struct Batch {
  struct Tick {
    std::int64_t number = 0;
    Position position;
  };
  struct Point {
    std::uint32_t series = 0;  // index into all series names handed out so far
    std::int64_t tick = 0;
    double value = 0;
  };
  struct SeriesName {
    std::string metric;
    int worker = kWholeRun;
  };
  struct Line {
    std::string time;
    Severity severity = Severity::info;
    std::string text;
  };

  struct Chunk {
    int worker = 0;
    std::int64_t first = 0;  // number of its first event, over the whole run
    std::size_t begin = 0;   // in `events`
    std::size_t count = 0;
  };
  struct Checkpoint {
    CheckpointRecord record;
    int keep = 1;
  };

  std::vector<SeriesName> new_series;  // in the order of their indices
  std::vector<Tick> ticks;
  std::vector<Point> points;
  std::vector<Line> lines;
  std::vector<Chunk> chunks;  // each entry is one call's events, in order
  std::vector<Event> events;
  Position progress;
  bool progressed = false;
  std::optional<Checkpoint> checkpoint;  // after everything else in the batch

  bool empty() const {
    return ticks.empty() && lines.empty() && chunks.empty() && !progressed && !checkpoint;
  }
  std::size_t records() const { return points.size() + events.size(); }
  void clear();
};

/// The queue between the threads that record and the writer thread. Recording takes the lock for as
/// long as it takes to copy the values; the writer takes it to swap buffers, never while it writes.
///
/// The queue is bounded: when `most_records` values and events wait, because the store stays locked
/// or is slower than the run, sample() and events() sleep until the writer takes a batch. Sleeping
/// loses nothing; running out of memory would lose the run.
class WriteQueue {
 public:
  static constexpr std::size_t kMostRecords = 4'000'000;  // a few hundred MB

  explicit WriteQueue(std::int64_t first_tick, std::size_t most_records = kMostRecords)
      : most_records_(most_records),
        full_batch_(std::min(kFullBatch, most_records)),
        next_tick_(first_tick) {}

  // Any thread. After fail(), sample(), flush() and checkpoint() throw that failure, and the others
  // do nothing; threads that slept wake up.
  void sample(const Position& position, std::span<const Value> values) EXCLUDES_LOCK(mutex_);
  void progress(const Position& position) EXCLUDES_LOCK(mutex_);
  void note(Severity severity, std::string_view text) EXCLUDES_LOCK(mutex_);
  void events(int worker, std::int64_t first, std::span<const Event> events) EXCLUDES_LOCK(mutex_);
  /// Sleeps until everything recorded before the call is committed.
  void flush() EXCLUDES_LOCK(mutex_);
  /// Ends the batch with a checkpoint, so that later records are not part of it, and sleeps until
  /// that batch is committed. Returns what committed() was given. One thread at a time.
  std::vector<std::string> checkpoint(const CheckpointRecord& record, int keep)
      EXCLUDES_LOCK(mutex_);
  /// After this call the writer takes what is left; then take() returns false.
  void close() EXCLUDES_LOCK(mutex_);

  // The writer thread calls these.
  /// Sleeps until a batch is due: 250 ms after the last one when something was recorded, else 2 s
  /// after it (with an empty batch, for the heartbeat). False: the queue is closed and empty.
  bool take(Batch& batch) EXCLUDES_LOCK(mutex_);
  /// `released`: paths of checkpoints that the batch let go of.
  void committed(std::vector<std::string> released) EXCLUDES_LOCK(mutex_);
  void fail(std::exception_ptr failure) EXCLUDES_LOCK(mutex_);

 private:
  void wait_for_room() REQUIRES_LOCK(mutex_);
  bool due() REQUIRES_LOCK(mutex_);
  std::uint32_t series_index(const Value& value) REQUIRES_LOCK(mutex_);
  void advance(const Position& position) REQUIRES_LOCK(mutex_);
  /// Whether to wake the writer. Call it with records() as it was before the addition.
  bool grown_from(std::size_t records_before) REQUIRES_LOCK(mutex_);

  static constexpr std::size_t kFullBatch = 50'000;  // values and events: written at once

  struct MetricSeries {
    std::string metric;
    std::vector<std::int64_t> index_of_worker;  // at worker + 1; −1: not seen
  };

  const SteadyClock clock_;
  const std::size_t most_records_, full_batch_;  // limits of pending_
  Mutex mutex_;
  Condition wake_;  // the writer sleeps on it
  Condition done_;  // threads that flush sleep on it
  Condition room_;  // threads that record sleep on it
  Batch pending_ GUARDED_BY(mutex_);
  std::optional<Batch> sealed_ GUARDED_BY(mutex_);  // ends with a checkpoint; before pending_
  std::vector<std::string> released_ GUARDED_BY(mutex_);
  std::vector<MetricSeries> metrics_ GUARDED_BY(mutex_);
  std::uint32_t series_count_ GUARDED_BY(mutex_) = 0;
  std::int64_t next_tick_ GUARDED_BY(mutex_);
  Position furthest_ GUARDED_BY(mutex_);
  double last_take_seconds_ GUARDED_BY(mutex_) = -1e9;
  std::int64_t batches_taken_ GUARDED_BY(mutex_) = 0;
  std::int64_t batches_committed_ GUARDED_BY(mutex_) = 0;
  bool flush_wanted_ GUARDED_BY(mutex_) = false;
  bool closed_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace acid
