#pragma once

#include <memory>

#include "engine/transport/transport.hpp"

namespace acid {

/// For tests: transports between threads that stand for processes; messages pass through queues in
/// memory. One thread per transport, which must end before the cluster. Bodies are read from the
/// sender's memory when they are fetched, so they must live until then, or until leave() or kill(),
/// as with a message too large for any buffer.
///
/// `kill(rank)` makes a process that has not left unreachable: its own calls throw LostProcess, and
/// so do the calls of others that do not outlive the loss. Worker i is on host "node<i>". With
/// `windows` other hosts can map its memory all the same.
class LocalCluster {
 public:
  explicit LocalCluster(int size, bool windows = false);
  ~LocalCluster();
  Transport& at(int rank);
  void kill(int rank);  // any thread
  /// Kills the process when it sends more than so many messages. Call it before any thread uses the
  /// cluster.
  void kill_after(int rank, int messages);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid
