#include "engine/transport/side_channel.hpp"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace acid {
namespace {

constexpr std::uint32_t kAlarm = UINT32_MAX;  // the eventfd among epoll's items
constexpr std::size_t kReadBytes = std::size_t{1} << 16;
// Reads from one process before it is another's turn.
constexpr int kMostReads = 16;

Descriptor checked(int number, const char* what) {
  if (number < 0) throw Error(fmt::format("cannot make an {}: {}", what, std::strerror(errno)));
  return Descriptor(number);
}

void set_option(int socket, int option, int value) {
  ::setsockopt(socket, IPPROTO_TCP, option, &value, sizeof value);
}

timespec to_timespec(double seconds) {
  const double whole = std::floor(seconds);
  return {static_cast<time_t>(whole), static_cast<long>((seconds - whole) * 1e9)};
}

}  // namespace

SideChannel::SideChannel(int rank, std::vector<ProcessPlace> places,
                         std::vector<Descriptor> connections, const SideChannelOptions& options)
    : rank_(rank),
      places_(std::move(places)),
      options_(options),
      events_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll instance")),
      alarm_(checked(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      peers_(places_.size()),
      scratch_(kReadBytes),
      last_tick_(clock_.seconds()),
      next_heartbeat_(last_tick_) {
  ACID_ASSERT(connections.size() == places_.size(), "{} connections of {}", connections.size(),
              places_.size());
  epoll_event event{EPOLLIN, {.u32 = kAlarm}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_ADD, alarm_.get(), &event);
  for (int other = 0; other < static_cast<int>(places_.size()); ++other) {
    if (other == rank_) continue;
    peer(other).socket = std::move(connections[static_cast<std::size_t>(other)]);
    const int socket = peer(other).socket.get();
    set_option(socket, TCP_NODELAY, 1);
    // Notices lost hosts between processes that exchange no heartbeats.
    set_option(socket, TCP_USER_TIMEOUT, static_cast<int>(options_.silence_seconds * 1000));
    event = {EPOLLIN, {.u32 = static_cast<std::uint32_t>(other)}};
    if (::epoll_ctl(events_.get(), EPOLL_CTL_ADD, socket, &event) != 0)
      throw Error(fmt::format("cannot watch a connection: {}", std::strerror(errno)));
  }
}

void SideChannel::check_alive() const {
  if (lost_) throw LostProcess(*lost_);
}

void SideChannel::send(int to, std::span<const std::byte> first,
                       std::span<const std::byte> second) {
  ACID_ASSERT(first.size() + second.size() <= kMostBytes, "a message of {} + {} bytes",
              first.size(), second.size());
  ACID_ASSERT(!leaving_, "worker {} sends after it has left", rank_);
  check_alive();
  send_frame(to, Kind::message, first, second);
  check_alive();
}

/// Writes into the connection as much as fits, the rest into the queue.
void SideChannel::send_frame(int to, Kind kind, std::span<const std::byte> first,
                             std::span<const std::byte> second) {
  Peer& other = peer(to);
  if (!other.socket || other.left) return;
  const FrameHead head{static_cast<std::uint32_t>(first.size() + second.size()), kind};
  const std::array<std::span<const std::byte>, 3> parts{std::as_bytes(std::span(&head, 1)), first,
                                                        second};
  std::size_t sent = 0;
  if (other.unsent.empty()) {
    std::array<iovec, 3> pieces{};
    for (std::size_t i = 0; i < parts.size(); ++i)
      pieces[i] = {const_cast<std::byte*>(parts[i].data()), parts[i].size()};
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    const auto result = uninterrupted(
        [&] { return ::sendmsg(other.socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT); });
    // Errors other than a full buffer show again on reading.
    sent = static_cast<std::size_t>(std::max<ssize_t>(result, 0));
  }
  for (const auto& part : parts) {
    const std::size_t skipped = std::min(sent, part.size());
    sent -= skipped;
    other.unsent.insert(other.unsent.end(), part.begin() + static_cast<std::ptrdiff_t>(skipped),
                        part.end());
  }
  if (!other.unsent.empty()) watch(to, true);
}

void SideChannel::watch(int rank, bool for_room) {
  Peer& other = peer(rank);
  if (other.watched_for_room == for_room) return;
  other.watched_for_room = for_room;
  epoll_event event{for_room ? EPOLLIN | EPOLLOUT : EPOLLIN,
                    {.u32 = static_cast<std::uint32_t>(rank)}};
  ::epoll_ctl(events_.get(), EPOLL_CTL_MOD, other.socket.get(), &event);
}

void SideChannel::flush(int rank) {
  Peer& other = peer(rank);
  while (other.socket && other.unsent_begin < other.unsent.size()) {
    const auto sent = uninterrupted([&] {
      return ::send(other.socket.get(), other.unsent.data() + other.unsent_begin,
                    other.unsent.size() - other.unsent_begin, MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    if (sent < 0) return;  // full, or broken, which shows on reading
    other.unsent_begin += static_cast<std::size_t>(sent);
  }
  other.unsent.clear();
  other.unsent_begin = 0;
  if (other.socket) watch(rank, false);
}

void SideChannel::poll_events() {
  std::array<epoll_event, 64> events{};
  // Peers that had their turn come last, so after this many rounds each has had one.
  const std::size_t rounds = 1 + peers_.size() / events.size();
  for (std::size_t round = 0; round < rounds; ++round) {
    const int count = uninterrupted([&] {
      return ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    });
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u32 == kAlarm) {
        std::uint64_t calls = 0;
        woken_ = ::read(alarm_.get(), &calls, sizeof calls) > 0 || woken_;
        continue;
      }
      const int rank = static_cast<int>(event.data.u32);
      if ((event.events & EPOLLOUT) != 0) flush(rank);
      if ((event.events & ~EPOLLOUT) != 0) read_from(rank);
    }
    if (count < static_cast<int>(events.size())) break;
  }
}

void SideChannel::read_from(int rank) {
  Peer& other = peer(rank);
  for (int reads = 0; reads < kMostReads && other.socket; ++reads) {
    const auto got = uninterrupted(
        [&] { return ::recv(other.socket.get(), scratch_.data(), scratch_.size(), MSG_DONTWAIT); });
    if (got < 0 && errno == EAGAIN) return;
    if (got == 0) return close_connection(rank, "it closed its connection");
    if (got < 0)
      return close_connection(rank, fmt::format("its connection broke: {}", std::strerror(errno)));
    other.arrived.insert(other.arrived.end(), scratch_.begin(), scratch_.begin() + got);
    other.heard = awake_seconds_;
    take_frames(rank);
    if (static_cast<std::size_t>(got) < scratch_.size()) return;
  }
}

void SideChannel::take_frames(int rank) {
  Peer& other = peer(rank);
  std::size_t begin = 0;
  while (other.socket && other.arrived.size() - begin >= sizeof(FrameHead)) {
    FrameHead head;
    std::memcpy(&head, other.arrived.data() + begin, sizeof head);
    if (head.size > kMostBytes || head.kind > Kind::loss)
      return close_connection(rank, "it sent an invalid message");
    if (other.arrived.size() - begin < sizeof head + head.size) break;
    take_frame(rank, head.kind, {other.arrived.data() + begin + sizeof head, head.size});
    begin += sizeof head + head.size;
  }
  other.arrived.erase(other.arrived.begin(),
                      other.arrived.begin() + static_cast<std::ptrdiff_t>(begin));
}

void SideChannel::take_frame(int rank, Kind kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case Kind::message:
      inbox_.push_back({rank, {bytes.begin(), bytes.end()}});
      break;
    case Kind::heartbeat:
      break;
    case Kind::farewell:
      peer(rank).left = true;
      woken_ = true;  // messages to it are done
      break;
    case Kind::loss: {
      std::int32_t who = 0;
      if (bytes.size() < sizeof who) break;
      std::memcpy(&who, bytes.data(), sizeof who);
      const auto text = bytes.subspan(sizeof who);
      if (who < 0 || who >= static_cast<int>(places_.size())) break;
      take_loss(rank, who, std::string(reinterpret_cast<const char*>(text.data()), text.size()));
      break;
    }
  }
}

void SideChannel::close_connection(int rank, const std::string& how) {
  Peer& other = peer(rank);
  other.socket.close();  // epoll forgets it
  other.unsent.clear();
  other.unsent_begin = 0;
  if (!other.left) lose(rank, how);
}

void SideChannel::lose(int rank, const std::string& how, bool silent) {
  if (lost_ || leaving_) return;
  if (outlives_ && rank != 0) return outlive(rank, how);
  lost_.emplace(places_[static_cast<std::size_t>(rank)], how, silent);
  for (int other = 0; other < static_cast<int>(peers_.size()); ++other) tell_loss(other, rank, how);
}

void SideChannel::tell_loss(int to, int who, const std::string& how) {
  const std::int32_t number = who;
  send_frame(to, Kind::loss, std::as_bytes(std::span(&number, 1)), std::as_bytes(std::span(how)));
}

/// Messages that it had sent come before the news of its loss.
void SideChannel::outlive(int rank, const std::string& how) {
  if (peer(rank).lost) return;
  peer(rank).lost = true;
  if (rank_ == 0) tell_loss(rank, rank, how);
  peer(rank).socket.close();
  inbox_.push_back({rank, {}, how});
  for (Peer& other : peers_)
    if (other.suspected_by == rank) other.suspected_by = -1;
  if (rank_ != 0) return tell_loss(0, rank, how);
  for (int other = 1; other < static_cast<int>(peers_.size()); ++other) tell_loss(other, rank, how);
}

void SideChannel::outlive_losses() {
  check_alive();
  outlives_ = true;
}

/// Reports of worker 0 are final. Worker 0 treats those of others as suspicions: if two workers
/// lost each other, only one may be gone.
void SideChannel::take_loss(int from, int who, const std::string& how) {
  if (lost_ || leaving_) return;
  if (!outlives_) {
    if (who != rank_) lost_.emplace(places_[static_cast<std::size_t>(who)], how);
  } else if (who == rank_) {
    if (from == 0)
      lost_.emplace(places_[static_cast<std::size_t>(who)],
                    fmt::format("the others go on without it: {}", how));
  } else if (rank_ == 0 && !peer(from).lost) {
    suspect(from, who, how);
  } else if (from == 0) {
    read_from(who);  // its messages so far
    if (!peer(who).left) lose(who, how);
  }
}

void SideChannel::suspect(int by, int rank, const std::string& how) {
  Peer& other = peer(rank);
  if (other.left || other.lost || other.suspected_by >= 0) return;
  other.suspected_by = by;
  other.suspicion = how;
  other.suspected = awake_seconds_;
}

void SideChannel::lose_suspects() {
  for (int other = 0; other < static_cast<int>(peers_.size()); ++other) {
    const Peer& one = peer(other);
    if (one.suspected_by >= 0 && !one.left && !one.lost &&
        awake_seconds_ - one.suspected >= 2 * options_.heartbeat_seconds)
      lose(other, one.suspicion);
  }
}

std::optional<SideChannel::Message> SideChannel::next() {
  check_alive();
  if (inbox_.empty()) {
    poll_events();
    check_alive();
  }
  if (inbox_.empty()) return std::nullopt;
  Message message = std::move(inbox_.front());
  inbox_.pop_front();
  return message;
}

bool SideChannel::has_news() {
  if (inbox_.empty() && !woken_) poll_events();
  check_alive();
  return woken_ || !inbox_.empty();
}

bool SideChannel::wait(double seconds) {
  const double until = clock_.seconds() + seconds;
  while (true) {
    const bool news = has_news();
    const double now = clock_.seconds();
    if (now >= next_heartbeat_) tick(now);
    check_alive();
    if (news || now >= until) break;
    const timespec patience = to_timespec(std::min(until, next_heartbeat_) - now);
    pollfd events{events_.get(), POLLIN, 0};
    ::ppoll(&events, 1, &patience, nullptr);
  }
  return std::exchange(woken_, false);
}

void SideChannel::wake() {
  const std::uint64_t once = 1;
  // Fails only when the counter is full; then the thread wakes anyway.
  [[maybe_unused]] const auto written = ::write(alarm_.get(), &once, sizeof once);
}

void SideChannel::tick(double now) {
  poll_events();  // what has arrived counts before silence does
  awake_seconds_ += std::min(now - last_tick_, 2 * options_.heartbeat_seconds);
  last_tick_ = now;
  next_heartbeat_ = now + options_.heartbeat_seconds;
  for (int other = 0; other < static_cast<int>(peers_.size()); ++other) {
    if ((other == 0) == (rank_ == 0)) continue;
    if (!peer(other).socket || peer(other).left) continue;
    const double silence = awake_seconds_ - peer(other).heard;
    if (silence > options_.silence_seconds) {
      lose(other, fmt::format("nothing was heard of it for {:.0f} s", silence), true);
      if (lost_) return;
    }
    send_frame(other, Kind::heartbeat, {});
  }
  lose_suspects();
}

void SideChannel::leave(double seconds) {
  if (leaving_ || lost_) return;
  for (int other = 0; other < static_cast<int>(peers_.size()); ++other)
    send_frame(other, Kind::farewell, {});
  leaving_ = true;
  // Closing a connection with unread messages resets it, which could discard the farewell.
  constexpr timespec kPause{0, 1'000'000};
  const double until = clock_.seconds() + seconds;
  const auto is_sent = [](const Peer& other) {
    int unacknowledged = 0;
    if (!other.socket || other.left) return true;
    if (!other.unsent.empty()) return false;
    return ::ioctl(other.socket.get(), SIOCOUTQ, &unacknowledged) != 0 || unacknowledged == 0;
  };
  while (!std::ranges::all_of(peers_, is_sent) && clock_.seconds() < until) {
    poll_events();
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace acid
