#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.hpp"

namespace acid {

/// Where one process of a run lives.
struct ProcessPlace {
  int rank = 0;
  std::string host;
  std::int64_t pid = 0;
  /// "worker 3 (process 4711 on node7)".
  std::string name() const { return fmt::format("worker {} (process {} on {})", rank, pid, host); }
};

/// A process of the run can no longer be reached. The message has its name and the evidence.
class LostProcess : public Error {
 public:
  LostProcess(const ProcessPlace& place, const std::string& how, bool silent = false)
      : Error(fmt::format("{} was lost: {}", place.name(), how), Exit::lost),
        rank_(place.rank),
        silent_(silent) {}
  int rank() const { return rank_; }
  /// Its connection was open, but nothing was heard.
  bool silent() const { return silent_; }

 private:
  int rank_;
  bool silent_;
};

/// A message that has arrived; its body, if any, is not fetched yet.
struct Mail {
  int from = 0;
  std::vector<std::byte> header;
  std::size_t body_size = 0;  // floats
  std::uint64_t body = 0;     // the transport's name for it
  std::string lost = {};      // not empty: no message, but the evidence that `from` is lost
};

/// Moves messages between the processes of a run: a header of up to kMostHeaderBytes and optionally
/// a body of any number of floats (empty: no body). Messages from one process to another, or to
/// itself, arrive in order. What is sent to a process that has left is dropped.
///
/// Threads: the communication thread only, except for wake(). Only wait() blocks; it sleeps in the
/// kernel.
///
/// Failure: every call but wake(), leave() and the accessors throws LostProcess once a process has
/// closed its connection without leaving, or rank 0 and another have not heard from each other for
/// kSilenceSeconds. wait() sends heartbeats and must be called every second. After outlive_losses()
/// only the loss of rank 0 or of this process is such a failure.
class Transport {
 public:
  static constexpr double kSilenceSeconds = 8;
  static constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 20;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The place of every process, by rank.
  virtual const std::vector<ProcessPlace>& places() const = 0;

  using Ticket = std::uint64_t;
  /// `body` must not move or change until done(ticket); `header` is copied.
  virtual Ticket send(int to, std::span<const std::byte> header,
                      std::span<const float> body = {}) = 0;
  /// The next message that has arrived, from any sender.
  virtual std::optional<Mail> next() = 0;
  /// Fetches a message's body into `into`, of body_size floats, which must not move until
  /// done(ticket). Each body must be fetched exactly once.
  virtual Ticket fetch(const Mail& mail, std::span<float> into) = 0;
  /// Whether a body has been sent (its memory may be used again) or fetched. Stays true; also true
  /// for a message without a body.
  virtual bool done(Ticket ticket) = 0;

  /// Zeroed memory that other processes of this host can map while the transport lives. Call it at
  /// most once. Empty: not possible here.
  virtual std::span<float> open_window(std::size_t floats) = 0;
  /// The memory that `rank` has opened; empty unless it has that size and can be mapped here. Call
  /// it after a message has said that it was opened. Use is coordinated by messages: what was
  /// written before sending one is visible when it has arrived.
  virtual std::span<float> window(int rank, std::size_t floats) = 0;

  /// Sleeps until a message has arrived, a ticket may have been done, wake() was called, or the
  /// time has passed. May wake for no reason.
  virtual void wait(double seconds) = 0;
  /// Ends a wait() that is under way, or the next one. Any thread.
  virtual void wake() = 0;

  /// From now on next() reports the loss of a process other than rank 0, after its last message.
  /// What is sent to it is dropped; its bodies that have not arrived are never done().
  virtual void outlive_losses() = 0;

  /// Call it when nothing more will be sent or fetched. Waits, at most a few seconds, until what
  /// was sent has left. Then the end of this process is no failure to the others.
  virtual void leave() = 0;
};

}  // namespace acid
