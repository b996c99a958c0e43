#include "tests/transport/local_cluster.hpp"

#include <algorithm>

#include "engine/base/clock.hpp"

namespace acid {
namespace {

constexpr double kLeaveSeconds = 5;
constexpr const char* kHow = "it closed its connection without leaving";
constexpr std::int64_t kFirstProcess = 1000;  // process ids are made up, but there is one to name

}  // namespace

class LocalCluster::Endpoint final : public Transport {
 public:
  Endpoint(LocalCluster& cluster, int rank) : cluster_(cluster), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(cluster_.places_.size()); }
  const std::vector<ProcessPlace>& places() const override { return cluster_.places_; }
  Ticket send(int to, std::span<const std::byte> header, std::span<const float> body) override;
  std::optional<Mail> next() override;
  Ticket fetch(const Mail& mail, std::span<float> into) override;
  bool done(Ticket ticket) override;
  std::span<float> open_window(std::size_t floats) override;
  std::span<float> window(int rank, std::size_t floats) override;
  void wait(double seconds) override;
  void wake() override;
  void outlive_losses() override;
  void leave() override;

 private:
  Process& self() REQUIRES_LOCK(cluster_.mutex_) { return cluster_.process(rank_); }

  LocalCluster& cluster_;
  const int rank_;
};

LocalCluster::LocalCluster(int size, bool windows) : windows_(windows) {
  ACID_ASSERT(size >= 1, "size {}", size);
  MutexLock lock(mutex_);
  for (int rank = 0; rank < size; ++rank) {
    places_.push_back({rank, fmt::format("node{}", rank), kFirstProcess + rank});
    processes_.push_back(std::make_unique<Process>());
    endpoints_.push_back(std::make_unique<Endpoint>(*this, rank));
  }
}

void LocalCluster::kill(int rank) {
  MutexLock lock(mutex_);
  kill_process(rank);
}

void LocalCluster::kill_after(int rank, int messages) {
  MutexLock lock(mutex_);
  process(rank).messages_left = messages;
}

void LocalCluster::hold_bodies(int rank, bool holds) {
  MutexLock lock(mutex_);
  process(rank).holds_bodies = holds;
  for (std::size_t to = 0; to < processes_.size(); ++to) notify(static_cast<int>(to));
}

std::uint64_t LocalCluster::floats_sent(int rank) {
  MutexLock lock(mutex_);
  return process(rank).floats_sent;
}

void LocalCluster::kill_process(int rank) {
  if (process(rank).left || process(rank).killed) return;
  process(rank).killed = true;
  if (!first_killed_) first_killed_ = rank;
  drop_bodies(rank);
  for (const auto& one : processes_) {
    if (one->outlives) one->inbox.push_back({rank, {}, 0, 0, kHow});
    one->changed.notify_all();
  }
}

/// The lost process whose loss this process cannot outlive.
std::optional<int> LocalCluster::fatal_to(int rank) {
  if (!process(rank).outlives) return first_killed_;
  if (process(rank).killed) return rank;
  return process(0).killed ? std::optional(0) : std::nullopt;
}

void LocalCluster::check_alive(int rank) {
  if (const auto lost = fatal_to(rank))
    throw LostProcess(places_[static_cast<std::size_t>(*lost)], kHow);
}

void LocalCluster::notify(int rank) {
  process(rank).news = true;
  process(rank).changed.notify_all();
}

/// Nothing if the sender is lost.
std::optional<LocalCluster::Body> LocalCluster::take_body(const Mail& mail) {
  const auto found = bodies_.find(mail.body);
  if (found == bodies_.end()) {
    if (process(mail.from).killed) return std::nullopt;
    ACID_ASSERT(process(mail.from).left, "body {} of {} fetched twice", mail.body, mail.from);
    throw LostProcess(places_[static_cast<std::size_t>(mail.from)],
                      "it left before its message was fetched");
  }
  const Body body = found->second;
  bodies_.erase(found);
  process(body.from).unfinished.erase(body.ticket);
  notify(body.from);
  return body;
}

std::deque<Mail>::iterator LocalCluster::first_arrived(int rank) {
  std::deque<Mail>& inbox = process(rank).inbox;
  auto mail = inbox.begin();
  while (mail != inbox.end() && mail->body_size > 0 && process(mail->from).holds_bodies) ++mail;
  return mail;
}

bool LocalCluster::awaits_readers(int rank) {
  for (const auto& [name, body] : bodies_)
    if (body.from == rank && body.to != rank && !process(body.to).left) return true;
  return false;
}

void LocalCluster::drop_bodies(int rank) {
  for (auto entry = bodies_.begin(); entry != bodies_.end();) {
    const Body& body = entry->second;
    const bool dropped = body.from == rank || body.to == rank;
    if (dropped) process(body.from).unfinished.erase(body.ticket);
    entry = dropped ? bodies_.erase(entry) : std::next(entry);
  }
}

Transport::Ticket LocalCluster::Endpoint::send(int to, std::span<const std::byte> header,
                                               std::span<const float> body) {
  ACID_ASSERT(to >= 0 && to < size(), "to {} of {}", to, size());
  ACID_ASSERT(header.size() <= kMostHeaderBytes, "a header of {} bytes", header.size());
  MutexLock lock(cluster_.mutex_);
  if (self().messages_left && (*self().messages_left)-- == 0) cluster_.kill_process(rank_);
  cluster_.check_alive(rank_);
  ACID_ASSERT(!self().left, "worker {} has left", rank_);
  const Ticket ticket = ++self().last_ticket;
  if (cluster_.process(to).left || cluster_.process(to).killed) return ticket;
  self().floats_sent += body.size();
  Mail mail{rank_, {header.begin(), header.end()}, body.size(), 0};
  if (!body.empty()) {
    mail.body = ++cluster_.last_body_;
    cluster_.bodies_[mail.body] = {rank_, to, ticket, body};
    self().unfinished.insert(ticket);
  }
  cluster_.process(to).inbox.push_back(std::move(mail));
  cluster_.notify(to);
  return ticket;
}

std::optional<Mail> LocalCluster::Endpoint::next() {
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  const auto first = cluster_.first_arrived(rank_);
  if (first == self().inbox.end()) return std::nullopt;
  Mail mail = std::move(*first);
  self().inbox.erase(first);
  return mail;
}

Transport::Ticket LocalCluster::Endpoint::fetch(const Mail& mail, std::span<float> into) {
  ACID_ASSERT(into.size() == mail.body_size, "{} floats into {}", mail.body_size, into.size());
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  const Ticket ticket = ++self().last_ticket;
  if (mail.body_size == 0) return ticket;
  if (const auto body = cluster_.take_body(mail)) {
    ACID_ASSERT(body->to == rank_, "a body for worker {} fetched by {}", body->to, rank_);
    std::copy(body->values.begin(), body->values.end(), into.begin());
    self().news = true;
  } else {
    self().unfinished.insert(ticket);
  }
  return ticket;
}

bool LocalCluster::Endpoint::done(Ticket ticket) {
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  return self().unfinished.count(ticket) == 0;
}

std::span<float> LocalCluster::Endpoint::open_window(std::size_t floats) {
  if (!cluster_.windows_) return {};
  MutexLock lock(cluster_.mutex_);
  self().window = std::make_unique<SharedWindow>();
  return self().window_memory = self().window->open(floats);
}

std::span<float> LocalCluster::Endpoint::window(int rank, std::size_t floats) {
  MutexLock lock(cluster_.mutex_);
  const std::span<float> memory = cluster_.process(rank).window_memory;
  return memory.size() == floats ? memory : std::span<float>{};
}

void LocalCluster::Endpoint::wait(double seconds) {
  const SteadyClock clock;
  const double until = clock.seconds() + seconds;
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  while (!self().news && cluster_.first_arrived(rank_) == self().inbox.end()) {
    const double left = until - clock.seconds();
    if (left <= 0) break;
    self().changed.wait_for(cluster_.mutex_, left);
    cluster_.check_alive(rank_);
  }
  self().news = false;
}

void LocalCluster::Endpoint::wake() {
  MutexLock lock(cluster_.mutex_);
  cluster_.notify(rank_);
}

void LocalCluster::Endpoint::outlive_losses() {
  MutexLock lock(cluster_.mutex_);
  self().outlives = true;
  cluster_.check_alive(rank_);
  for (int rank = 1; rank < size(); ++rank)
    if (cluster_.process(rank).killed) self().inbox.push_back({rank, {}, 0, 0, kHow});
}

void LocalCluster::Endpoint::leave() {
  const SteadyClock clock;
  const double until = clock.seconds() + kLeaveSeconds;
  MutexLock lock(cluster_.mutex_);
  if (self().left) return;
  while (!cluster_.fatal_to(rank_) && cluster_.awaits_readers(rank_) && clock.seconds() < until)
    self().changed.wait_for(cluster_.mutex_, until - clock.seconds());
  self().left = true;
  cluster_.drop_bodies(rank_);
  for (int rank = 0; rank < size(); ++rank) cluster_.notify(rank);
}

}  // namespace acid
