#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/recorder/recorder.hpp"
#include "engine/run/ensemble.hpp"

namespace acid {

/// Collects the events of a run's workers and hands them to the recorder in portions of kPortion.
/// Does nothing when no log is kept.
///
/// Threads: a worker's events are added by the thread that may change it at the moment. For mark()
/// of all workers, flush() and persist(), no worker may be changing.
class EventLog {
 public:
  EventLog(int workers, bool kept, Recorder& recorder);

  /// An event that has just happened to `worker`; `exchange` is the edge's number in the drawn
  /// list.
  void add(int index, EventKind kind, double time, const Worker& worker,
           std::uint64_t exchange = 0) {
    if (kept_) append(index, kind, time, worker, exchange);
  }
  /// An offer to a server, whose number is not known yet. The worker's events are handed over only
  /// after name_offer() has given the number.
  void add_offer(int index, double time, const Worker& worker) {
    if (!kept_) return;
    Own& own = workers_[static_cast<std::size_t>(index)];
    own.nameless = static_cast<std::int64_t>(own.pending.size());
    append(index, EventKind::offer, time, worker, 0);
  }
  void name_offer(int index, std::uint64_t number) {
    if (!kept_) return;
    Own& own = workers_[static_cast<std::size_t>(index)];
    own.pending[static_cast<std::size_t>(own.nameless)].exchange = number;
    own.nameless = -1;
  }
  /// A mark in every worker's log, with the fingerprint of the whole of its x.
  void mark(EventKind kind, double time, const Ensemble& ensemble);
  /// Ensemble::mean_at, and the mark of a measurement in the log of every worker that is not
  /// absent, in one pass. Fingerprints are taken where a log is kept.
  MeanModel measure(double time, const Ensemble& ensemble, Look look,
                    std::span<const ExchangeInFlight> in_flight = {});
  /// Ends the log of a lost worker. `missed`: how many of its last marks were taken without it.
  void end(int index, double time, std::uint64_t missed);
  /// The mark in the log of one worker.
  void mark(int index, EventKind kind, double time, const Worker& worker);
  void mark(int index, EventKind kind, double time, std::uint32_t fingerprint_of_x);
  /// Hands everything to the recorder.
  void flush();

  /// How many events of one worker the recorder has; 0 when no log is kept.
  std::int64_t handed_over(int index) const {
    return kept_ ? workers_[static_cast<std::size_t>(index)].handed_over : 0;
  }
  /// The worker's next event is number `events` of its log, from 0. Before any is added.
  void resume_at(int index, std::int64_t events) {
    if (kept_) workers_[static_cast<std::size_t>(index)].handed_over = events;
  }

  /// Nothing may be waiting to be handed over: call flush() before.
  template <class Archive>
  void persist(Archive& archive) {
    for (Own& own : workers_) archive(own.handed_over);
  }

 private:
  static constexpr std::size_t kPortion = 1024;
  /// One worker's events, on cache lines of their own.
  struct alignas(128) Own {
    std::vector<Event> pending;
    std::int64_t handed_over = 0;  // events before the pending ones
    std::int64_t nameless = -1;    // index in `pending` of an offer without its number; −1: none
  };
  void append(int index, EventKind kind, double time, const Worker& worker, std::uint64_t exchange);
  void hand_over(int worker);

  const bool kept_;
  Recorder& recorder_;
  std::vector<Own> workers_;
};

}  // namespace acid
