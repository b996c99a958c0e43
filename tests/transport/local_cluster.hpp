#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/transport/shared_window.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// Transports between threads that stand for processes; messages pass through queues in memory. One
/// thread per transport, which must end before the cluster. Bodies are read from the sender's
/// memory when they are fetched, so they must live until then, or until leave() or kill(), as with
/// a message too large for any buffer.
///
/// `kill(rank)` makes a process that has not left unreachable: its own calls throw LostProcess, and
/// so do the calls of others that do not outlive the loss. Worker i is on host "node<i>". With
/// `windows` other hosts can map its memory all the same.
///
/// One lock for everything. Bodies are copied under it, so that the sender's memory stays valid.
class LocalCluster {
 public:
  explicit LocalCluster(int size, bool windows = false);
  Transport& at(int rank) { return *endpoints_.at(static_cast<std::size_t>(rank)); }
  void kill(int rank) EXCLUDES_LOCK(mutex_);  // any thread
  /// Kills the process when it sends more than so many messages. Call it before any thread uses the
  /// cluster.
  void kill_after(int rank, int messages) EXCLUDES_LOCK(mutex_);
  /// While it holds, messages of a process that have a body do not arrive. Any thread.
  void hold_bodies(int rank, bool holds) EXCLUDES_LOCK(mutex_);
  /// In the bodies of a process's messages so far.
  std::uint64_t floats_sent(int rank) EXCLUDES_LOCK(mutex_);

 private:
  class Endpoint;
  /// A body that is not fetched yet. It lies in the sender's memory.
  struct Body {
    int from = 0;
    int to = 0;
    Transport::Ticket ticket = 0;
    std::span<const float> values;
  };
  /// What a process has received and is waiting for.
  struct Process {
    std::deque<Mail> inbox;
    std::set<Transport::Ticket> unfinished;
    Transport::Ticket last_ticket = 0;
    bool news = false;  // since the last wait() a ticket was done or wake() was called
    bool left = false, killed = false;
    std::optional<int> messages_left;
    std::uint64_t floats_sent = 0;
    bool holds_bodies = false;
    bool outlives = false;  // see Transport::outlive_losses()
    std::unique_ptr<SharedWindow> window;
    std::span<float> window_memory;
    Condition changed;
  };

  Process& process(int rank) REQUIRES_LOCK(mutex_) {
    return *processes_[static_cast<std::size_t>(rank)];
  }
  void kill_process(int rank) REQUIRES_LOCK(mutex_);
  std::optional<int> fatal_to(int rank) REQUIRES_LOCK(mutex_);
  void check_alive(int rank) REQUIRES_LOCK(mutex_);
  void notify(int rank) REQUIRES_LOCK(mutex_);
  std::optional<Body> take_body(const Mail& mail) REQUIRES_LOCK(mutex_);
  /// In a process's inbox.
  std::deque<Mail>::iterator first_arrived(int rank) REQUIRES_LOCK(mutex_);
  bool awaits_readers(int rank) REQUIRES_LOCK(mutex_);
  void drop_bodies(int rank) REQUIRES_LOCK(mutex_);  // that it sent or was to fetch

  const bool windows_;
  std::vector<ProcessPlace> places_;
  std::vector<std::unique_ptr<Transport>> endpoints_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Process>> processes_ GUARDED_BY(mutex_);
  std::map<std::uint64_t, Body> bodies_ GUARDED_BY(mutex_);
  std::uint64_t last_body_ GUARDED_BY(mutex_) = 0;
  std::optional<int> first_killed_ GUARDED_BY(mutex_);
};

}  // namespace acid
