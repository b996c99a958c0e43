#pragma once

#include <memory>

#include "engine/transport/transport.hpp"

namespace acid {

/// Transports between threads that stand for processes, for tests: messages pass through queues in
/// memory. One thread per transport, which must outlive neither the cluster nor, without leave() or
/// kill(), what it has sent: bodies are read from the sender's memory when they are fetched, so a
/// sender is not done before its partner is, as with a message too large for any buffer.
///
/// `kill(rank)` makes a process unreachable, unless it has left before: its own calls throw
/// LostProcess, and so do everybody else's that do not outlive the loss. Worker i lives on host
/// "node<i>". With `windows` they can be mapped all the same.
class LocalCluster {
 public:
  explicit LocalCluster(int size, bool windows = false);
  ~LocalCluster();
  Transport& at(int rank);
  void kill(int rank);  // any thread
  /// The process is killed in place of sending any more than so many messages. To be called before
  /// any thread uses the cluster.
  void kill_after(int rank, int messages);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid
