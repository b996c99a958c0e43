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
  std::string name() const;
};

/// A process of the run can no longer be reached; the message names it and says how one knows.
class LostProcess : public Error {
 public:
  LostProcess(const ProcessPlace& place, const std::string& how, bool silent = false);
  int rank() const { return rank_; }
  /// It still had its connection, and said nothing.
  bool silent() const { return silent_; }

 private:
  int rank_;
  bool silent_;
};

/// A message as it arrives. Its body, if it has one, still waits to be fetched.
struct Mail {
  int from = 0;
  std::vector<std::byte> header;
  std::size_t body_size = 0;  // floats
  std::uint64_t body = 0;     // the transport's name for it
  std::string lost = {};      // not empty: no message, but how one knows that `from` is lost
};

/// Moves messages between the processes of a run: a header of up to kMostHeaderBytes, and with it,
/// if need be, a body of any number of floats (a body of none is no body). Messages from one
/// process to another arrive in the order in which they were sent; so do those that a process sends
/// to itself. What is sent to a process that has left vanishes.
///
/// Threads: the communication thread only, wake() apart. Nothing blocks but wait(), which sleeps in
/// the kernel.
///
/// Failure: every call but wake(), leave() and the accessors throws LostProcess once a process has
/// closed its connection without leaving, or rank 0 and another have not heard of each other for
/// kSilenceSeconds. Heartbeats are sent by wait(), which must therefore be called every second.
/// After outlive_losses() only the loss of rank 0, or of this process, is such a failure.
class Transport {
 public:
  static constexpr double kSilenceSeconds = 8;
  static constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 20;

  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Of every process, by rank.
  virtual const std::vector<ProcessPlace>& places() const = 0;

  using Ticket = std::uint64_t;
  /// `body` must neither move nor change until done(ticket); `header` is copied.
  virtual Ticket send(int to, std::span<const std::byte> header,
                      std::span<const float> body = {}) = 0;
  /// The next message that has arrived, of any sender.
  virtual std::optional<Mail> next() = 0;
  /// Fetches a message's body into `into`, of body_size floats, which must not move until
  /// done(ticket). Each body must be fetched exactly once.
  virtual Ticket fetch(const Mail& mail, std::span<float> into) = 0;
  /// Whether a body has been sent (its memory may be used again) or fetched. Asked again after it
  /// has said true, it goes on saying so; it also says so for a message without a body.
  virtual bool done(Ticket ticket) = 0;

  /// Zeroed memory that other processes of this host can map, for as long as the transport lives;
  /// at most once. Empty where there is none.
  virtual std::span<float> open_window(std::size_t floats) = 0;
  /// The memory that `rank` has opened, if it is of that size and can be mapped here, else empty.
  /// To be asked when a message tells that it was opened. Who may use it when, messages agree on:
  /// what was written before one was sent is there when it has arrived.
  virtual std::span<float> window(int rank, std::size_t floats) = 0;

  /// Sleeps until a message has arrived, a ticket may have been done, wake() was called, or the
  /// time has passed. May wake for no reason.
  virtual void wait(double seconds) = 0;
  /// Ends a wait() that is under way, or the next one. Any thread.
  virtual void wake() = 0;

  /// From now on next() tells of a process that is lost, other than rank 0, as the last that comes
  /// from it. What is sent to it vanishes; a body of it that has not arrived never will be done().
  virtual void outlive_losses() = 0;

  /// Nothing more will be sent or fetched: waits until what was sent has left, at most a few
  /// seconds. From here on the end of this process is no failure to the others.
  virtual void leave() = 0;
};

}  // namespace acid
