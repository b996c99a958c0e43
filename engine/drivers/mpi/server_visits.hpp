#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "engine/codecs/packed_message.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"
#include "engine/drivers/shared/rounds.hpp"
#include "engine/run/servers.hpp"

namespace acid {

/// A process's worker on its way through the round of a method with a server. The gradient thread
/// does all between two gradients at one normalised time, and sleeps at `hear` until the
/// communication thread brings the reply. The worker's mutex guards all of it.
class ServerVisits {
 public:
  /// The arguments outlive this.
  ServerVisits(const Run& run, Post& post, SharedWorker& worker);
  /// Tells the thread-safety analysis that the worker's mutex is held.
  void assert_locked() const ASSERTS_LOCK(worker_.mutex) {}

  // The gradient thread calls these.
  /// Walks until the first gradient has begun. Returns false if none is left or the run is given
  /// up.
  bool begin() REQUIRES_LOCK(worker_.mutex);
  /// Walks from a counted gradient until the next has begun or, if the run has none left, to the
  /// leg's end. Returns false if the loss is not finite, or the run is given up.
  bool go_on(const Position& done, double loss) REQUIRES_LOCK(worker_.mutex);
  /// Whether all gradients of the run are committed, as far as known.
  bool ends() const REQUIRES_LOCK(worker_.mutex);

  // The communication thread calls these.
  /// Resumes the worker from a checkpoint.
  void resume() REQUIRES_LOCK(worker_.mutex);
  /// Takes a message of the kinds reply and last_reply; after the latter calls `complete`.
  void deliver(const Mail& mail, const std::function<void()>& complete);
  /// The worker's server is known to have heard so many messages.
  void hear_arrivals(std::int64_t count) REQUIRES_LOCK(worker_.mutex);
  /// Whether the worker is between two steps of its way and awaits no reply.
  bool is_idle() const REQUIRES_LOCK(worker_.mutex) { return !walking_ && !awaiting_; }
  /// No reply comes any more; any thread.
  void give_up();

 private:
  bool walk_on(double t, const Position* done, double loss) REQUIRES_LOCK(worker_.mutex);
  bool step(const Position& done, double loss, std::int64_t staleness) REQUIRES_LOCK(worker_.mutex);
  void say(double t) REQUIRES_LOCK(worker_.mutex);
  bool hear(double t) REQUIRES_LOCK(worker_.mutex);
  void take(std::span<const float> message, std::span<float> row);

  const Run& run_;
  const RunSpec& spec_;
  Post& post_;
  SharedWorker& worker_;
  const int rank_;
  const PackedMessage form_;
  ServerMessages messages_ GUARDED_BY(worker_.mutex);
  RoundPlace at_ GUARDED_BY(worker_.mutex);
  // The worker's last answered message: its number at all servers and at its own; and how many
  // messages its own has heard, as far as known.
  std::uint64_t number_ GUARDED_BY(worker_.mutex) = 0;
  std::int64_t arrival_ GUARDED_BY(worker_.mutex) = 0, arrivals_ GUARDED_BY(worker_.mutex) = 0;
  /// Of the worker's last gradient; before it of its first.
  double learning_rate_ GUARDED_BY(worker_.mutex);
  bool walking_ GUARDED_BY(worker_.mutex) = false, awaiting_ GUARDED_BY(worker_.mutex) = false;
  bool given_up_ GUARDED_BY(worker_.mutex) = false;
};

}  // namespace acid
