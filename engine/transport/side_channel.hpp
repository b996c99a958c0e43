#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/descriptor.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

struct SideChannelOptions {
  double heartbeat_seconds = 1;
  double silence_seconds = Transport::kSilenceSeconds;
};

/// TCP connections between every pair of a run's processes. Carries everything small, notices lost
/// processes, and lets a process sleep in the kernel until something arrives. Threads and failure:
/// as Transport. Messages from one process to another arrive in order.
///
/// Heartbeats go between worker 0 and each other worker. Silence is measured in time in which the
/// listening process was awake: after being stopped it first reads what has arrived. A process that
/// finds another lost tells all others, so that all name the same one. Once losses are outlived
/// (Transport::outlive_losses()) it tells worker 0, which tells all, also the lost process: if that
/// one is alive, it throws LostProcess with its own name.
class SideChannel {
 public:
  /// `connections` by rank, none at one's own; see meet().
  SideChannel(int rank, std::vector<ProcessPlace> places, std::vector<Descriptor> connections,
              const SideChannelOptions& options = {});

  struct Message {
    int from = 0;
    std::vector<std::byte> bytes;
    std::string lost = {};  // as in Mail
  };

  const std::vector<ProcessPlace>& places() const { return places_; }
  /// Sends `first` and `second`, joined, as one message of up to kMostBytes, to another process.
  static constexpr std::size_t kMostBytes = Transport::kMostHeaderBytes + 64;
  void send(int to, std::span<const std::byte> first, std::span<const std::byte> second = {});
  /// The next message that has arrived.
  std::optional<Message> next();
  /// Sleeps until has_news() or the time has passed; sends heartbeats and checks for silence.
  /// Returns whether wake() was called or a process has left since the last wait().
  bool wait(double seconds);
  void wake();  // any thread
  /// Whether the process has left, or is lost and outlived.
  bool has_left(int rank) const {
    const Peer& other = peers_[static_cast<std::size_t>(rank)];
    return other.left || other.lost;
  }
  bool is_lost(int rank) const { return peers_[static_cast<std::size_t>(rank)].lost; }
  void outlive_losses();
  /// Reports that a process seems lost, other than by its connection; losses are outlived. It
  /// counts as lost at the latest after two heartbeats, so that its last messages can arrive.
  void suspect(int rank, const std::string& how) { suspect(rank_, rank, how); }

  /// Waits until everything sent has reached the other hosts, then sends a farewell; gives up after
  /// `seconds`. Throws nothing.
  void leave(double seconds);
  void check_alive() const;

 private:
  enum class Kind : std::uint32_t { message, heartbeat, farewell, loss };
  struct FrameHead {
    std::uint32_t size = 0;  // of what follows
    Kind kind = Kind::message;
  };
  struct Peer {
    Descriptor socket;
    std::vector<std::byte> arrived;  // between two calls: an incomplete frame
    std::vector<std::byte> unsent;
    std::size_t unsent_begin = 0;
    bool watched_for_room = false;
    bool left = false, lost = false;
    int suspected_by = -1;  // the rank that suspects it to be lost; −1: none
    std::string suspicion;
    double suspected = 0;  // when, in awake seconds
    double heard = 0;      // when last, in awake seconds
  };

  Peer& peer(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  void send_frame(int to, Kind kind, std::span<const std::byte> first,
                  std::span<const std::byte> second = {});
  void flush(int rank);
  void watch(int rank, bool for_room);
  void poll_events();
  void read_from(int rank);
  void take_frames(int rank);
  void take_frame(int rank, Kind kind, std::span<const std::byte> bytes);
  void close_connection(int rank, const std::string& how);
  void lose(int rank, const std::string& how, bool silent = false);
  void outlive(int rank, const std::string& how);
  void take_loss(int from, int who, const std::string& how);
  void tell_loss(int to, int who, const std::string& how);
  void suspect(int by, int rank, const std::string& how);
  void lose_suspects();
  void tick(double now);
  bool has_news();

  const int rank_;
  const std::vector<ProcessPlace> places_;
  const SideChannelOptions options_;
  const SteadyClock clock_;
  Descriptor events_;  // epoll
  Descriptor alarm_;   // eventfd
  // The communication thread's only:
  std::vector<Peer> peers_;
  std::vector<std::byte> scratch_;
  std::deque<Message> inbox_;
  std::optional<LostProcess> lost_;
  bool outlives_ = false;
  bool woken_ = false;
  bool leaving_ = false;
  double awake_seconds_ = 0;
  double last_tick_;
  double next_heartbeat_;
};

}  // namespace acid
