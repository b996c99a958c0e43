#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "engine/drivers/mpi/incoming.hpp"
#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/worker/arena.hpp"

namespace acid {

/// One message of every process to those that hear it, round after round. Where the graph changes,
/// a sender that hears no message meanwhile may be several rounds ahead, as many as rank 0 lets
/// workers be apart: early messages are kept.
///
/// Cost per round and process: one vector, packed, and one message to each receiver, one hop; room
/// for messages that have arrived and are not heard. A message that the receiver's own is needed to
/// understand is decoded once that is published, and its rest follows. A sender that does not hear
/// its receiver must get the gaps from it, and the round waits for that.
///
/// Belongs to the communication thread, except the vectors: published() may change between the end
/// of a round and the next publish(), and received() may be read in that time.
class NeighbourExchange {
 public:
  /// The own vector lies in `memory`. `over` is called at the end of every round: all vectors have
  /// arrived and the own one has left. `peers` outlives this.
  NeighbourExchange(Post& post, const PeerSchedule& peers, const Backend& memory,
                    std::function<void()> over);

  std::span<float> published() { return published_.span(); }
  /// Sends published() as that exchange carries it. Numbers ascend.
  void publish(std::int64_t round);
  /// Takes a message of the kinds parameters, gaps and rest.
  void deliver(const Mail& mail);
  /// The messages of the last round, by worker; null for workers that are not heard in it.
  const std::vector<const float*>& received() const { return received_; }

 private:
  struct Arrival {
    Incoming message;
    std::int64_t round = 0;
    int from = 0;
  };
  void decode(Arrival& arrival);
  void check_over();

  Post& post_;
  const PeerSchedule& peers_;
  const std::function<void()> over_;
  const PackedMessage& form_;
  const Backend& memory_;
  Arena<float> published_, packed_;
  std::list<Arrival> arrivals_, unused_;  // of this round and later ones; room of earlier ones
  std::vector<const float*> received_;
  bool in_flight_ = false;  // published, not over
  std::int64_t round_ = 0;
  std::shared_ptr<const PeerSchedule::Exchange> exchange_;  // of round_
  std::size_t leaving_ = 0, unasked_ = 0;  // receivers: not reached; that may have gaps
};

}  // namespace acid
