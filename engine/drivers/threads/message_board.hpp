#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/threads/said.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"

namespace acid {

/// Where the workers of a synchronous run on threads leave their messages for each other.
///
/// Worker w's message of an exchange is written before it is said and read by those that wait for
/// it; a worker says the next but one, which takes its place, when they all have heard it. Where
/// the graph changes, that may be long after they began to wait for others. Where all workers are
/// heard, they meet before and after their parts of the mean are added, which is the caller's
/// business.
class MessageBoard {
 public:
  /// Each worker has said and heard so many messages before. All outlive this.
  MessageBoard(const RunSpec& spec, const PeerSchedule& peers, Ensemble& ensemble,
               std::int64_t said);

  /// Nothing is sent in it, and nobody waits.
  bool is_empty(std::int64_t exchange) const { return peers_.form().floats(exchange) == 0; }

  // Worker w's thread.
  /// Until the message before the last one of the worker's is heard, whose place is wanted. False
  /// once it is aborted.
  bool wait_for_place(int w, std::int64_t exchange);
  void say(int w, std::int64_t exchange);
  /// Until those whom the worker hears have said their messages. False once it is aborted.
  bool wait_for_peers(int w, std::int64_t exchange);
  void hear_peers(int w, std::int64_t exchange, EventLog& log);
  /// The worker's part of the mean of all messages.
  void add_part(int w, std::int64_t exchange);
  /// Where gradients are reduced nothing happens: the step takes direction().
  void hear_mean(int w, std::int64_t exchange, EventLog& log);
  /// What the optimiser is given.
  std::span<const float> direction(int w);

  /// Frees everybody who waits, for ever.
  void abort();

 private:
  /// Where gradients are reduced, the worker's gradient.
  std::span<float> message(int w, std::int64_t exchange);
  std::vector<const float*> messages(std::int64_t exchange);  // by worker

  const RunSpec& spec_;
  const PeerSchedule& peers_;
  Ensemble& ensemble_;
  const std::size_t message_size_;
  std::vector<Arena<float>> messages_[2];  // by parity of the exchange, by worker
  Arena<float> mean_;                      // of all messages, where all workers are heard
  Said said_, heard_;
};

}  // namespace acid
