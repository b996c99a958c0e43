#include "engine/transport/mpi_transport.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "engine/transport/direct_memory.hpp"
#include "engine/transport/mpi_check.hpp"

namespace acid {
namespace {

constexpr double kLeaveSeconds = 5;
constexpr double kYieldSeconds = 0.4e-3;  // of polling without success, before it gets rarer
constexpr double kShortestSleepSeconds = 50e-6;
constexpr double kLongestSleepSeconds = 1e-3;
// MPI counts in int: longer bodies are several messages under one tag, which stay in order.
constexpr std::size_t kMostFloats = std::size_t{1} << 30;

std::uint64_t largest_tag(MPI_Comm communicator) {
  void* value = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(communicator, MPI_TAG_UB, static_cast<void*>(&value), &found),
            "tell the largest tag");
  return found != 0 ? static_cast<std::uint64_t>(*static_cast<int*>(value)) : 32767;
}

}  // namespace

MpiTransport::MpiTransport(MPI_Comm bodies, std::unique_ptr<SideChannel> side, int rank,
                           std::vector<Neighbour> neighbours, std::unique_ptr<SharedWindow> window)
    : bodies_(bodies),
      side_(std::move(side)),
      rank_(rank),
      neighbours_(std::move(neighbours)),
      window_(std::move(window)),
      most_tag_(largest_tag(bodies)),
      sent_bodies_(neighbours_.size(), 0) {}

void MpiTransport::fail(int peer, int code, const char* what) const {
  throw LostProcess(places()[static_cast<std::size_t>(peer)],
                    fmt::format("MPI cannot {}: {}", what, mpi_error_text(code)));
}

Transport::Ticket MpiTransport::send(int to, std::span<const std::byte> header,
                                     std::span<const float> body) {
  ACID_ASSERT(to >= 0 && to < size(), "to {} of {}", to, size());
  ACID_ASSERT(header.size() <= kMostHeaderBytes, "a header of {} bytes", header.size());
  side_->check_alive();
  const Ticket ticket = ++last_ticket_;
  if (to == rank_) {
    send_to_self(header, body, ticket);
    return ticket;
  }
  if (side_->has_left(to)) return ticket;
  Head head{Kind::mail, Way::memory, body.size(), ticket, 0};
  if (const auto receiver = static_cast<std::size_t>(to); neighbours_[receiver].reads_here) {
    head.place = reinterpret_cast<std::uintptr_t>(body.data());
  } else if (!body.empty()) {
    head.way = Way::mpi;
    head.place = sent_bodies_[receiver]++ % (most_tag_ + 1);
  }
  // Before the body, behind which it would have to wait on a narrow link.
  side_->send(to, std::as_bytes(std::span(&head, 1)), header);
  if (!body.empty()) start_sending(head, to, body);
  return ticket;
}

void MpiTransport::send_to_self(std::span<const std::byte> header, std::span<const float> body,
                                Ticket ticket) {
  Mail mail{rank_, {header.begin(), header.end()}, body.size(), 0};
  if (!body.empty()) {
    mail.body = ++last_body_;
    announced_[mail.body] = {rank_,
                             {Kind::mail, Way::memory, body.size(), ticket,
                              reinterpret_cast<std::uintptr_t>(body.data())}};
    transfers_[ticket] = {rank_, true, false, 0};
  }
  inbox_.push_back(std::move(mail));
}

void MpiTransport::start_sending(const Head& head, int to, std::span<const float> body) {
  Transfer transfer{to, true, false, 0};
  if (head.way == Way::mpi) {
    const MpiRequests::Staged staged = stage(body.size());
    if (staged) std::ranges::copy(body, staged->begin());
    const float* const from = staged ? staged->data() : body.data();
    for (std::size_t begin = 0; begin < body.size(); begin += kMostFloats) {
      const auto count = static_cast<int>(std::min(kMostFloats, body.size() - begin));
      MPI_Request request = MPI_REQUEST_NULL;
      const int code = MPI_Isend(from + begin, count, MPI_FLOAT, to, static_cast<int>(head.place),
                                 bodies_, &request);
      if (code != MPI_SUCCESS) {
        fail_request(head.ticket, to, code);
        continue;
      }
      requests_.add(request, {head.ticket, to, {}, staged});
      ++transfer.requests;
    }
  }
  const bool failed = head.way == Way::mpi && transfer.requests == 0;
  if (!failed) transfers_[head.ticket] = transfer;
}

Transport::Ticket MpiTransport::fetch(const Mail& mail, std::span<float> into) {
  ACID_ASSERT(into.size() == mail.body_size, "{} floats into {}", mail.body_size, into.size());
  side_->check_alive();
  const Ticket ticket = ++last_ticket_;
  if (mail.body_size == 0) return ticket;
  if (side_->is_lost(mail.from)) {
    transfers_[ticket] = {.peer = mail.from, .lost = true};
    return ticket;
  }
  const auto found = announced_.find(mail.body);
  ACID_ASSERT(found != announced_.end(), "body {} of {} fetched twice", mail.body, mail.from);
  const Announced body = found->second;
  announced_.erase(found);
  if (body.from == rank_) {
    std::memcpy(into.data(), reinterpret_cast<const float*>(body.head.place), into.size_bytes());
    finish(body.head.ticket);
    return ticket;
  }
  if (body.head.way == Way::mpi)
    start_receiving(body.head, body.from, into, ticket);
  else if (!read_memory(body.head, body.from, into))
    transfers_[ticket].peer = body.from;
  const Head word{Kind::fetched, body.head.way, 0, body.head.ticket, 0};
  side_->send(body.from, std::as_bytes(std::span(&word, 1)));
  return ticket;
}

/// False if the sender is being lost and losses are outlived.
bool MpiTransport::read_memory(const Head& head, int from, std::span<float> into) {
  const auto sender = static_cast<std::size_t>(from);
  ACID_ASSERT(neighbours_[sender].can_be_read, "worker {} cannot be read", from);
  try {
    DirectMemory::read(neighbours_[sender].pid, head.place, into);
  } catch (const Error& error) {
    if (!outlives_ || from == 0) throw LostProcess(places()[sender], error.what());
    side_->suspect(from, error.what());
    return false;
  }
  return news_ = true;
}

std::span<float> MpiTransport::window(int rank, std::size_t floats) {
  const Neighbour& owner = neighbours_[static_cast<std::size_t>(rank)];
  if (owner.window < 0) return {};
  const auto [found, fresh] = windows_.try_emplace(rank);
  if (fresh) found->second = MappedWindow(owner.pid, owner.window, floats);
  const std::span<float> memory = found->second.memory();
  return memory.size() == floats ? memory : std::span<float>{};
}

void MpiTransport::start_receiving(const Head& head, int from, std::span<float> into,
                                   Ticket ticket) {
  Transfer& transfer = transfers_[ticket];
  transfer.peer = from;
  const MpiRequests::Staged staged = stage(into.size());
  float* const to = staged ? staged->data() : into.data();
  for (std::size_t begin = 0; begin < into.size(); begin += kMostFloats) {
    const auto count = static_cast<int>(std::min(kMostFloats, into.size() - begin));
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = MPI_Irecv(to + begin, count, MPI_FLOAT, from, static_cast<int>(head.place),
                               bodies_, &request);
    ++transfer.requests;
    if (code != MPI_SUCCESS) {
      fail_request(ticket, from, code);
      continue;
    }
    requests_.add(request, {ticket, from, into, staged});
  }
  activate(transfer);
}

MpiRequests::Staged MpiTransport::stage(std::size_t floats) const {
  return outlives_ ? std::make_shared<std::vector<float>>(floats) : nullptr;
}

/// A loss may be noticed by MPI first.
void MpiTransport::fail_request(Ticket ticket, int peer, int code) {
  constexpr const char* kWhat = "move a vector to or from it";
  if (!outlives_ || peer == 0) fail(peer, code, kWhat);
  side_->suspect(peer, fmt::format("MPI cannot {}: {}", kWhat, mpi_error_text(code)));
  abandon(ticket);
}

void MpiTransport::outlive_losses() {
  side_->outlive_losses();
  outlives_ = true;
}

void MpiTransport::lose(int peer) {
  std::erase_if(announced_, [&](const auto& entry) { return entry.second.from == peer; });
  std::vector<Ticket> tickets;
  for (const auto& [ticket, transfer] : transfers_)
    if (transfer.peer == peer) tickets.push_back(ticket);
  for (const Ticket ticket : tickets) abandon(ticket);
  news_ = true;
}

/// Stops waiting for the transfer's requests. What was being sent counts as sent; what was to
/// arrive is lost.
void MpiTransport::abandon(Ticket ticket) {
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) return;
  if (found->second.sending) return finish(ticket);
  if (std::exchange(found->second.active, false)) --active_;
  found->second.lost = true;
}

void MpiTransport::activate(Transfer& transfer) {
  if (!std::exchange(transfer.active, true)) ++active_;
  progress_at_ = clock_.seconds();
}

void MpiTransport::finish(Ticket ticket) {
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) return;
  if (found->second.active) --active_;
  transfers_.erase(found);
  news_ = true;
}

void MpiTransport::take(SideChannel::Message message) {
  if (!message.lost.empty()) {
    lose(message.from);
    inbox_.push_back({message.from, {}, 0, 0, std::move(message.lost)});
    return;
  }
  Head head;
  ACID_ASSERT(message.bytes.size() >= sizeof head, "a message of {} bytes", message.bytes.size());
  std::memcpy(&head, message.bytes.data(), sizeof head);
  if (head.kind == Kind::fetched) {  // the receiver has a body, or wants it now
    const auto found = transfers_.find(head.ticket);
    if (head.way == Way::memory) return finish(head.ticket);
    if (found != transfers_.end()) activate(found->second);
    return;
  }
  message.bytes.erase(message.bytes.begin(), message.bytes.begin() + sizeof head);
  Mail mail{message.from, std::move(message.bytes), head.body_size, 0};
  if (head.body_size > 0) {
    mail.body = ++last_body_;
    announced_[mail.body] = {message.from, head};
  }
  inbox_.push_back(std::move(mail));
}

void MpiTransport::pump() {
  while (auto message = side_->next()) take(std::move(*message));
}

void MpiTransport::progress() {
  if (requests_.empty()) return;
  std::vector<MpiRequests::Finished> finished;
  const int code = requests_.take_finished(finished);
  if (code != MPI_SUCCESS) fail(requests_.any_peer(), code, "tell what has arrived");
  if (finished.empty()) return;
  for (const auto& [owner, error] : finished)
    if (error != MPI_SUCCESS) fail_request(owner.ticket, owner.peer, error);
  for (const auto& [owner, error] : finished) {
    const auto found = transfers_.find(owner.ticket);
    if (found == transfers_.end() || found->second.lost || --found->second.requests > 0) continue;
    if (!owner.into.empty() && owner.staged) std::ranges::copy(*owner.staged, owner.into.begin());
    finish(owner.ticket);
  }
  progress_at_ = clock_.seconds();
}

std::optional<Mail> MpiTransport::next() {
  if (inbox_.empty()) pump();
  side_->check_alive();
  if (inbox_.empty()) return std::nullopt;
  Mail mail = std::move(inbox_.front());
  inbox_.pop_front();
  return mail;
}

bool MpiTransport::done(Ticket ticket) {
  side_->check_alive();
  const auto unfinished = [&] {
    const auto found = transfers_.find(ticket);
    if (found == transfers_.end()) return false;
    return !found->second.sending || !side_->has_left(found->second.peer);
  };
  if (!unfinished()) return true;
  pump();
  progress();
  return !unfinished();
}

void MpiTransport::wait(double seconds) {
  const double until = clock_.seconds() + seconds;
  double sleep = kShortestSleepSeconds;
  bool woken = false;
  while (true) {
    pump();
    progress();
    const double now = clock_.seconds();
    if (woken || news_ || !inbox_.empty() || now >= until) break;
    const bool yields = active_ > 0 && now - progress_at_ < kYieldSeconds;
    if (yields) ::sched_yield();
    const double patience = active_ == 0 ? until - now : yields ? 0 : std::min(sleep, until - now);
    if (!yields) sleep = std::min(2 * sleep, kLongestSleepSeconds);
    woken = side_->wait(patience);
  }
  news_ = false;
}

bool MpiTransport::sends_unfinished() const {
  return std::any_of(transfers_.begin(), transfers_.end(), [&](const auto& entry) {
    const Transfer& transfer = entry.second;
    return transfer.sending && transfer.peer != rank_ && !side_->has_left(transfer.peer);
  });
}

void MpiTransport::leave() {
  const double until = clock_.seconds() + kLeaveSeconds;
  try {
    while (sends_unfinished() && clock_.seconds() < until) wait(until - clock_.seconds());
    // Without a farewell the others will know that a promised body is missing.
    if (!sends_unfinished()) side_->leave(kLeaveSeconds);
  } catch (const Error&) {  // a process is lost; the others know
  }
}

void MpiRequests::add(MPI_Request request, Owner owner) {
  requests_.push_back(request);
  owners_.push_back(std::move(owner));
}

int MpiRequests::take_finished(std::vector<Finished>& finished) {
  indices_.resize(requests_.size());
  statuses_.resize(requests_.size());
  int count = 0;
  const int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count,
                                indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
  if (count == MPI_UNDEFINED) return MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i), index = static_cast<std::size_t>(indices_[k]);
    // MPI does not set the statuses if all succeeded.
    finished.push_back({std::move(owners_[index]),
                        code == MPI_ERR_IN_STATUS ? statuses_[k].MPI_ERROR : MPI_SUCCESS});
  }
  std::sort(indices_.begin(), indices_.begin() + count, std::greater<>());
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    requests_[index] = requests_.back();
    owners_[index] = std::move(owners_.back());
    requests_.pop_back();
    owners_.pop_back();
  }
  return MPI_SUCCESS;
}

}  // namespace acid
