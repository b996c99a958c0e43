#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include "engine/base/archive.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// How long a process that expects nothing waits for messages at a time.
constexpr double kIdleSeconds = 0.5;

/// The kind of a message; its header begins with it.
enum class MailKind : std::uint8_t {
  // From every process to rank 0's collector (report.hpp).
  events,
  notes,
  mark,
  state_vector,
  // From every process to rank 0, and back: its window is open, and rank 0 reads it.
  window_opened,
  window_read,
  // Rank 0 to all, at the start.
  start,
  start_notes,
  start_vector,
  // Asynchronous methods: to rank 0's Coordinator.
  progress,
  promise,
  cut_wanted,
  stop,
  stopped_committing,
  held,
  shut_down_wanted,
  // Asynchronous methods: from rank 0's Coordinator to all.
  clock,
  ask_cut,
  cut,
  stop_committing,
  end,
  shut_down,
  // Asynchronous methods: between partners (pair_exchange.hpp).
  ready,
  go,
  answer,
  offer,
  lent,
  returned,
  rest,  // also in synchronous methods
  // Between workers and a server (server_visits.hpp, mpi_server.hpp).
  said,
  reply,
  last_reply,
  // Synchronous methods (round_messages.hpp, round_directives.hpp).
  slice,
  slice_mean,
  parameters,
  gaps,
  directive,
  round_ready,
};

/// A message's header: its kind and the values that follow.
template <class... Values>
std::vector<std::byte> mail_header(MailKind kind, const Values&... values) {
  ArchiveWriter archive;
  archive(kind, values...);
  return archive.take();
}

/// Reads a message's header: the kind at once, the values as its reader knows them.
class MailReader {
 public:
  explicit MailReader(const Mail& mail) : archive_(mail.header) { archive_(kind_); }
  MailKind kind() const { return kind_; }
  template <class... Values>
  void operator()(Values&... values) {
    archive_(values...);
  }
  /// The next values, of these types.
  template <class... Values>
  std::tuple<Values...> values() {
    std::tuple<Values...> next;
    std::apply(archive_, next);
    return next;
  }

 private:
  ArchiveReader archive_;
  MailKind kind_{};
};

/// The post office of a process: keeps bodies alive until they have left, reports their arrival,
/// and takes messages from other threads. The communication thread's, except submit() and wake().
class Post {
 public:
  explicit Post(Transport& transport) : transport_(transport) {}
  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }
  const ProcessPlace& place(int rank) const {
    return transport_.places()[static_cast<std::size_t>(rank)];
  }

  void send(int to, std::span<const std::byte> header) { transport_.send(to, header); }
  void send_to_all(std::span<const std::byte> header);  // this process too
  /// `body` is borrowed until `sent` is called.
  void send(int to, std::span<const std::byte> header, std::span<const float> body,
            std::function<void()> sent);
  /// Keeps `body` until it has left.
  void send(int to, std::span<const std::byte> header, std::vector<float> body);
  /// `into` is borrowed until `arrived` is called.
  void fetch(const Mail& mail, std::span<float> into, std::function<void()> arrived);

  /// Transport::outlive_losses(). Nothing is fetched from a process after its loss is delivered.
  void outlive_losses() { transport_.outlive_losses(); }

  /// Sends what was submitted. Returns whether anything was.
  bool send_submitted() EXCLUDES_LOCK(mutex_);
  /// Sends what was submitted, gives every message that has arrived to `deliver`, and calls back
  /// for bodies that have left or arrived. If there is none of these, sleeps first, at most for
  /// `seconds`. May be called from within `deliver` and the callbacks.
  void pump(double seconds, const std::function<void(const Mail&)>& deliver) EXCLUDES_LOCK(mutex_);

  std::span<float> open_window(std::size_t floats) { return transport_.open_window(floats); }
  std::span<float> window(int rank, std::size_t floats) { return transport_.window(rank, floats); }

  /// Whether no body is on its way, in or out.
  bool idle() const { return pending_.empty(); }

  /// This process is about to end, perhaps because it failed: lets the others finish reading its
  /// memory, for half a second at most. Messages that arrive meanwhile are dropped.
  void let_go() EXCLUDES_LOCK(mutex_);

  /// Runs `job`, which takes long and does not use the post, on another thread, and sends
  /// heartbeats to the other processes meanwhile. Messages wait. Rethrows what the job throws.
  void run_with_heartbeats(const std::function<void()>& job);

  /// As send(), from any thread; in the order of submission.
  void submit(int to, std::vector<std::byte> header, std::vector<float> body = {})
      EXCLUDES_LOCK(mutex_);
  /// Ends a pump() that sleeps. Any thread.
  void wake() { transport_.wake(); }

 private:
  struct Submitted {
    int to = 0;
    std::vector<std::byte> header;
    std::vector<float> body;
  };
  struct Pending {
    Transport::Ticket ticket = 0;
    std::function<void()> done;
    int fetched_from = -1;
  };
  void wait(double seconds);
  bool work(const std::function<void(const Mail&)>& deliver) EXCLUDES_LOCK(mutex_);

  Transport& transport_;
  const SteadyClock clock_;
  double waited_seconds_ = 0;  // when the transport last had time for heartbeats
  std::deque<Pending> pending_;
  Mutex mutex_;
  std::vector<Submitted> submitted_ GUARDED_BY(mutex_);
};

}  // namespace acid
