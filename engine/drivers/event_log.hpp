#pragma once

#include <cstdint>
#include <vector>

#include "engine/drivers/ensemble.hpp"
#include "engine/recorder/recorder.hpp"

namespace acid {

/// What happens to the workers of a run, on its way to the recorder in portions of kPortion events.
/// Does nothing when no log is kept.
///
/// Threads: a worker's events are added by whoever may change that worker at the moment; mark(),
/// flush() and persist() want all of them at rest.
class EventLog {
 public:
  EventLog(int workers, bool kept, Recorder& recorder);

  /// An event that has just happened to `worker`; `exchange` is the edge's number in the drawn
  /// list.
  void add(int index, EventKind kind, double time, const Worker& worker,
           std::uint64_t exchange = 0) {
    if (kept_) append(index, kind, time, worker, exchange);
  }
  /// A mark in every worker's log, with the fingerprint of the whole of its x.
  void mark(EventKind kind, double time, const Ensemble& ensemble);
  /// Hands everything to the recorder.
  void flush();

  /// Nothing may be waiting to be handed over: flush() before.
  template <class Archive>
  void persist(Archive& archive) {
    for (Own& own : workers_) archive(own.handed_over);
  }

 private:
  static constexpr std::size_t kPortion = 1024;
  /// Of one worker, on cache lines of its own.
  struct alignas(128) Own {
    std::vector<Event> pending;
    std::int64_t handed_over = 0;  // events before the pending ones
  };
  void append(int index, EventKind kind, double time, const Worker& worker, std::uint64_t exchange);
  void hand_over(int worker);

  const bool kept_;
  Recorder& recorder_;
  std::vector<Own> workers_;
};

}  // namespace acid
