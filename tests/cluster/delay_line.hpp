#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "engine/base/rng.hpp"

namespace acid::test {

/// One direction of a link.
struct LineModel {
  double latency_seconds = 0;
  double bandwidth_bytes_per_second = std::numeric_limits<double>::infinity();
  double loss = 0;  // probability that a frame is lost
  /// Bytes that may wait for their turn, including the frame that is being sent; frames without
  /// room are lost, as in a switch.
  double queue_bytes = 1e6;
};

using Frame = std::vector<std::byte>;

/// Frames on their way in one direction of a link: they take turns at the bandwidth, then travel
/// for the latency. Flows take turns with each other, frame by frame, and one that had nothing
/// waiting comes first (as in fq_codel, RFC 8290); the frames of a flow arrive in the order in
/// which they were sent. It has no clock: each call gives its time in seconds, which never
/// decreases. Not thread-safe.
class DelayLine {
 public:
  DelayLine(const LineModel& model, std::uint64_t seed) : model_(model), chance_(seed) {}

  /// Sends a frame, or loses it; returns which.
  bool send(double now, Frame frame, std::uint64_t flow = 0);
  /// When the next frame arrives; empty: none is under way.
  std::optional<double> next_arrival() const;
  /// The next frame that has arrived by now.
  std::optional<Frame> receive(double now);

 private:
  struct Waiting {
    double sent = 0;
    Frame frame;
  };
  /// Puts on the line what has its turn by now.
  void serve(double now);
  std::uint64_t next_flow();
  struct Travelling {
    double arrival = 0;
    Frame frame;
  };

  LineModel model_;
  Stream chance_;
  double free_at_ = 0;  // when the last frame so far has been put on the line
  std::map<std::uint64_t, std::deque<Waiting>> waiting_;  // by flow; none is empty
  std::deque<std::uint64_t> fresh_, others_;              // those flows, by turn
  double waiting_bytes_ = 0;
  std::deque<Travelling> travelling_;
};

}  // namespace acid::test
