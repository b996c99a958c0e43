#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/drivers/mpi/post.hpp"
#include "engine/topology/topology.hpp"
#include "engine/worker/arena.hpp"

namespace acid {

/// One vector of every process to all its neighbours, round after round. A neighbour may be one
/// round ahead, never two: it needs this process's vector of the round between.
///
/// Cost per round and process: one vector and one message to each neighbour, one hop; room for two
/// vectors of each neighbour.
///
/// The communication thread's, but for the vectors: published() may change between the end of a
/// round and the next publish(), and received() of a round may be read from its end until the next
/// publish().
class NeighbourExchange {
 public:
  /// The own vector lies in `memory`. `over` is called at the end of every round: all vectors have
  /// arrived and the own one has left.
  NeighbourExchange(Post& post, std::span<const Neighbour> neighbours, std::size_t dimension,
                    const Backend& memory, std::function<void()> over);

  std::span<float> published() { return published_.span(); }
  /// Sends published(). The rounds are numbered without gaps.
  void publish(std::int64_t round);
  /// Takes a message of the kind parameters.
  void deliver(const Mail& mail);
  /// By worker; null for those that are no neighbours.
  std::vector<const float*> received(std::int64_t round) const;

 private:
  void check_over();

  Post& post_;
  const std::span<const Neighbour> neighbours_;
  const std::function<void()> over_;
  Arena<float> published_;
  std::vector<Arena<float>> received_[2];  // by parity of the round, by neighbour
  std::size_t arrived_[2] = {0, 0};
  bool in_flight_ = false;  // published, not over
  std::int64_t round_ = 0;
  std::size_t leaving_ = 0;
};

}  // namespace acid
