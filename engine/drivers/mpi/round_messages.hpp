#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/mpi/all_reduce.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/neighbours.hpp"
#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/run/event_log.hpp"

namespace acid {

/// The messages of one process of a synchronous run: its gradient thread hands them over, its
/// communication thread sends them and receives the others'.
///
/// One exchange is on its way at a time. The gradient thread owns a message, or a bucket of it,
/// until it is handed over, and again once the exchange is over; then it owns the received ones
/// too. mutex_ guards what is handed over.
class RoundMessages {
 public:
  /// `own_gradient`: the worker's. The arguments outlive this.
  RoundMessages(const Run& run, const MpiOptions& options, Post& post, const PeerSchedule& peers,
                std::span<float> own_gradient);
  ~RoundMessages();

  // The gradient thread calls these.
  /// Where the gradient must be computed, so that it can be sent from there.
  std::span<float> gradient() const { return gradient_; }
  /// Where gradients are reduced: begins an exchange.
  void begin() EXCLUDES_LOCK(mutex_);
  /// Where gradients are reduced: these elements of the gradient are final.
  void hand_over_parts(std::size_t first, std::size_t last) EXCLUDES_LOCK(mutex_);
  /// Says the worker's message and begins the exchange, unless the message is the gradient.
  void say(std::int64_t exchange, Worker& worker) EXCLUDES_LOCK(mutex_);
  /// Waits until the exchange is over. Returns false if the run is over.
  bool wait() EXCLUDES_LOCK(mutex_);
  /// Does nothing where gradients are reduced: the step takes direction().
  void hear(std::int64_t exchange, Worker& worker, EventLog& log) EXCLUDES_LOCK(mutex_);
  /// The optimiser's input.
  std::span<const float> direction() EXCLUDES_LOCK(mutex_);

  // The communication thread calls these.
  /// Takes a message of the kinds slice, slice_mean, round_ready, parameters, gaps and rest.
  void deliver(const Mail& mail);
  void send_handed_over() EXCLUDES_LOCK(mutex_);

  /// The run is over; any thread.
  void close() EXCLUDES_LOCK(mutex_);

 private:
  struct Sum;
  /// Made for the first message of that kind. The communication thread's.
  Sum& sum_of(const AllReduce::Key& key);
  /// The ranks that sum their messages with this one's in exchanges at a place.
  std::vector<int> members(std::int64_t place) const;
  void hand_over_rest() EXCLUDES_LOCK(mutex_);
  /// `mean`: of the summed messages.
  void is_over(std::span<const float> mean) EXCLUDES_LOCK(mutex_);
  std::span<const float> summed() EXCLUDES_LOCK(mutex_);

  const Method& method_;
  const Backend& memory_;
  const std::function<void(std::span<float>)> library_sum_;
  Post& post_;
  const PeerSchedule& peers_;
  const Buckets buckets_;       // of the gradient
  Arena<float> sent_gradient_;  // for transports that cannot send the worker's own
  const std::span<float> gradient_;
  Arena<float> message_;              // to be reduced, unless it is the gradient
  Arena<float> mean_;                 // of messages that are gathered
  std::vector<std::size_t> missing_;  // by bucket: elements that are not final

  Mutex mutex_;
  Condition changed_;                                          // the gradient thread waits for it
  std::vector<std::size_t> final_buckets_ GUARDED_BY(mutex_);  // to be contributed
  std::optional<std::int64_t> said_ GUARDED_BY(mutex_);        // exchange to be sent
  std::span<const float> summed_ GUARDED_BY(mutex_);           // the last mean
  bool exchanging_ GUARDED_BY(mutex_) = false;  // an exchange has begun and is not over
  bool closed_ GUARDED_BY(mutex_) = false;

  // The communication thread's own.
  std::map<AllReduce::Key, std::unique_ptr<Sum>> sums_;
  std::optional<NeighbourExchange> neighbours_;
};

}  // namespace acid
