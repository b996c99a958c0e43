#pragma once

#include <mpi.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/transport/shared_window.hpp"
#include "engine/transport/side_channel.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// The unfinished MPI requests of a process, each for a part of a body that is sent or received.
class MpiRequests {
 public:
  /// Memory of a request once losses are outlived: MPI may use it after the caller has given up.
  using Staged = std::shared_ptr<std::vector<float>>;
  struct Owner {
    Transport::Ticket ticket = 0;
    int peer = 0;
    std::span<float> into = {};  // what arrived in `staged` goes there
    Staged staged = {};
  };
  struct Finished {
    Owner owner;
    int code = MPI_SUCCESS;
  };

  bool empty() const { return requests_.empty(); }
  int any_peer() const { return owners_.front().peer; }
  void add(MPI_Request request, Owner owner);
  /// Moves finished requests into `finished`. Returns MPI's error code if the test itself fails.
  int take_finished(std::vector<Finished>& finished);

 private:
  std::vector<MPI_Request> requests_;
  std::vector<Owner> owners_;  // of requests_
  // Scratch of take_finished().
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

/// Another process, as seen from this one.
struct Neighbour {
  bool reads_here = false;   // it can copy out of this process's memory
  bool can_be_read = false;  // this process can copy out of its memory
  std::int64_t pid = 0;
  int window = -1;  // the number of its SharedWindow, if this process may map it
};

/// Headers travel through the side channel and announce bodies. On one host the receiver copies a
/// body out of the sender's memory, if permitted; otherwise MPI sends it.
///
/// MPI is called only while a body is on its way, because polling it costs a core or time. A
/// process that has offered a body sleeps until it hears that the body is being fetched. From then
/// on both sides poll, yielding to others, and after a fraction of a millisecond less and less
/// often.
class MpiTransport final : public Transport {
 public:
  /// `bodies` is this transport's own communicator, with MPI_ERRORS_RETURN; it is not freed.
  MpiTransport(MPI_Comm bodies, std::unique_ptr<SideChannel> side, int rank,
               std::vector<Neighbour> neighbours, std::unique_ptr<SharedWindow> window);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(side_->places().size()); }
  const std::vector<ProcessPlace>& places() const override { return side_->places(); }
  Ticket send(int to, std::span<const std::byte> header, std::span<const float> body) override;
  std::optional<Mail> next() override;
  Ticket fetch(const Mail& mail, std::span<float> into) override;
  bool done(Ticket ticket) override;
  std::span<float> open_window(std::size_t floats) override { return window_->open(floats); }
  std::span<float> window(int rank, std::size_t floats) override;
  void wait(double seconds) override;
  void wake() override { side_->wake(); }
  void outlive_losses() override;
  void leave() override;

 private:
  enum class Kind : std::uint64_t { mail, fetched };
  enum class Way : std::uint64_t { memory, mpi };
  /// Precedes every message. With a body: how it travels, the sender's ticket, and its address (way
  /// memory) or its tag (way mpi).
  struct Head {
    Kind kind = Kind::mail;
    Way way = Way::memory;
    std::uint64_t body_size = 0;
    Ticket ticket = 0;
    std::uint64_t place = 0;
  };
  static_assert(sizeof(Head) <= SideChannel::kMostBytes - kMostHeaderBytes);
  struct Transfer {
    int peer = 0;
    bool sending = false;
    bool active = false;  // both sides take part
    int requests = 0;     // of MPI, unfinished
    bool lost = false;    // the body will never arrive
  };
  void send_to_self(std::span<const std::byte> header, std::span<const float> body, Ticket ticket);
  void start_sending(const Head& head, int to, std::span<const float> body);
  MpiRequests::Staged stage(std::size_t floats) const;
  void lose(int peer);
  void abandon(Ticket ticket);
  void fail_request(Ticket ticket, int peer, int code);
  void start_receiving(const Head& head, int from, std::span<float> into, Ticket ticket);
  bool read_memory(const Head& head, int from, std::span<float> into);
  void take(SideChannel::Message message);
  void pump();
  void progress();
  void activate(Transfer& transfer);
  void finish(Ticket ticket);
  bool sends_unfinished() const;
  [[noreturn]] void fail(int peer, int code, const char* what) const;

  const MPI_Comm bodies_;
  const std::unique_ptr<SideChannel> side_;
  const int rank_;
  const std::vector<Neighbour> neighbours_;
  const std::unique_ptr<SharedWindow> window_;
  std::unordered_map<int, MappedWindow> windows_;  // of others, by rank
  const SteadyClock clock_;
  std::uint64_t most_tag_ = 32767;
  std::vector<std::uint64_t> sent_bodies_;  // by receiver
  Ticket last_ticket_ = 0;
  std::uint64_t last_body_ = 0;
  std::deque<Mail> inbox_;
  struct Announced {
    int from = 0;
    Head head;
  };
  std::unordered_map<std::uint64_t, Announced> announced_;  // bodies not yet fetched
  std::unordered_map<Ticket, Transfer> transfers_;          // unfinished
  MpiRequests requests_;
  bool outlives_ = false;
  int active_ = 0;          // transfers to poll for
  bool news_ = false;       // a ticket is done, since the last wait()
  double progress_at_ = 0;  // when a request was last made or finished
};

}  // namespace acid
