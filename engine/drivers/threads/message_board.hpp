#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"

namespace acid {

/// How many messages each worker has said, or heard. Any thread.
class Said {
 public:
  /// Each worker has said `before` messages already.
  Said(int workers, std::int64_t before);

  /// Worker w has said its next message, which may be read from now on.
  void say(int w);
  /// Sleeps until worker w has said `count` messages. Returns false if it never will.
  bool wait_for(int w, std::int64_t count);
  /// No worker says anything any more; wakes all waiting threads.
  void abort();

 private:
  /// One worker's part, on a cache line of its own.
  struct alignas(64) Own {
    Mutex mutex;
    Condition changed;
    std::int64_t messages GUARDED_BY(mutex) = 0;
    bool aborted GUARDED_BY(mutex) = false;
  };

  const int workers_;
  const std::unique_ptr<Own[]> own_;
};

/// Where the workers of a synchronous run on threads leave their messages for each other.
///
/// Worker w's message of an exchange is written before it is said, and read by the workers that
/// wait for it. The worker's message after the next takes its place once all of them have heard it.
/// Where the graph changes, that may be long after they began to wait for others. Where all workers
/// are heard, the caller makes them meet before and after they add their parts of the mean.
class MessageBoard {
 public:
  /// Each worker has said and heard `said` messages before. The arguments outlive this.
  MessageBoard(const RunSpec& spec, const PeerSchedule& peers, Ensemble& ensemble,
               std::int64_t said);

  /// Whether the exchange carries nothing, so that no worker waits.
  bool is_empty(std::int64_t exchange) const { return peers_.form().floats(exchange) == 0; }

  // Worker w's thread.
  /// Waits until the place of the message is free: the worker's message before the last is heard.
  /// Returns false once aborted.
  bool wait_for_place(int w, std::int64_t exchange);
  void say(int w, std::int64_t exchange);
  /// Waits until the workers that w hears have said their messages. Returns false once aborted.
  bool wait_for_peers(int w, std::int64_t exchange);
  void hear_peers(int w, std::int64_t exchange, EventLog& log);
  /// Adds the worker's part of the mean of all messages.
  void add_part(int w, std::int64_t exchange);
  /// Does nothing where gradients are reduced: the step takes direction().
  void hear_mean(int w, std::int64_t exchange, EventLog& log);
  /// The optimiser's input.
  std::span<const float> direction(int w);

  /// Wakes all waiting threads, for good.
  void abort();

 private:
  /// The worker's message: its gradient where gradients are reduced.
  std::span<float> message(int w, std::int64_t exchange);
  std::vector<const float*> messages(std::int64_t exchange);  // by worker

  const RunSpec& spec_;
  const PeerSchedule& peers_;
  Ensemble& ensemble_;
  const std::size_t message_size_;
  std::vector<Arena<float>> messages_[2];  // by parity of the exchange, by worker
  Arena<float> mean_;                      // of all messages, where all workers are heard
  std::vector<Arena<float>> group_means_;  // by worker: of its group, where groups average
  Said said_, heard_;
};

}  // namespace acid
