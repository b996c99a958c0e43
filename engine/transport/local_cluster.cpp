#include "engine/transport/local_cluster.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/mutex.hpp"
#include "engine/transport/shared_window.hpp"

namespace acid {
namespace {

constexpr double kLeaveSeconds = 5;
constexpr const char* kHow = "it closed its connection without leaving";
constexpr std::int64_t kFirstProcess = 1000;  // process ids are made up, but there is one to name

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
  bool outlives = false;  // see Transport::outlive_losses()
  std::unique_ptr<SharedWindow> window;
  std::span<float> window_memory;
  Condition changed;
};

}  // namespace

/// One lock for everything. Bodies are copied under it, so that the sender's memory stays valid.
class LocalCluster::Impl {
 public:
  Impl(int size, bool windows);
  Transport& at(int rank);
  void kill(int rank) EXCLUDES_LOCK(mutex_);
  void kill_after(int rank, int messages) EXCLUDES_LOCK(mutex_);

 private:
  class Endpoint;

  Process& process(int rank) REQUIRES_LOCK(mutex_) {
    return *processes_[static_cast<std::size_t>(rank)];
  }
  void kill_process(int rank) REQUIRES_LOCK(mutex_);
  std::optional<int> fatal_to(int rank) REQUIRES_LOCK(mutex_);
  void check_alive(int rank) REQUIRES_LOCK(mutex_);
  void notify(int rank) REQUIRES_LOCK(mutex_);
  std::optional<Body> take_body(const Mail& mail) REQUIRES_LOCK(mutex_);
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

class LocalCluster::Impl::Endpoint final : public Transport {
 public:
  Endpoint(Impl& cluster, int rank) : cluster_(cluster), rank_(rank) {}
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

  Impl& cluster_;
  const int rank_;
};

LocalCluster::Impl::Impl(int size, bool windows) : windows_(windows) {
  ACID_ASSERT(size >= 1, "size {}", size);
  MutexLock lock(mutex_);
  for (int rank = 0; rank < size; ++rank) {
    places_.push_back({rank, fmt::format("node{}", rank), kFirstProcess + rank});
    processes_.push_back(std::make_unique<Process>());
    endpoints_.push_back(std::make_unique<Endpoint>(*this, rank));
  }
}

Transport& LocalCluster::Impl::at(int rank) {
  return *endpoints_.at(static_cast<std::size_t>(rank));
}

void LocalCluster::Impl::kill(int rank) {
  MutexLock lock(mutex_);
  kill_process(rank);
}

void LocalCluster::Impl::kill_after(int rank, int messages) {
  MutexLock lock(mutex_);
  process(rank).messages_left = messages;
}

void LocalCluster::Impl::kill_process(int rank) {
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
std::optional<int> LocalCluster::Impl::fatal_to(int rank) {
  if (!process(rank).outlives) return first_killed_;
  if (process(rank).killed) return rank;
  return process(0).killed ? std::optional(0) : std::nullopt;
}

void LocalCluster::Impl::check_alive(int rank) {
  if (const auto lost = fatal_to(rank))
    throw LostProcess(places_[static_cast<std::size_t>(*lost)], kHow);
}

void LocalCluster::Impl::notify(int rank) {
  process(rank).news = true;
  process(rank).changed.notify_all();
}

/// Nothing if the sender is lost.
std::optional<Body> LocalCluster::Impl::take_body(const Mail& mail) {
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

bool LocalCluster::Impl::awaits_readers(int rank) {
  for (const auto& [name, body] : bodies_)
    if (body.from == rank && body.to != rank && !process(body.to).left) return true;
  return false;
}

void LocalCluster::Impl::drop_bodies(int rank) {
  for (auto entry = bodies_.begin(); entry != bodies_.end();) {
    const Body& body = entry->second;
    const bool dropped = body.from == rank || body.to == rank;
    if (dropped) process(body.from).unfinished.erase(body.ticket);
    entry = dropped ? bodies_.erase(entry) : std::next(entry);
  }
}

Transport::Ticket LocalCluster::Impl::Endpoint::send(int to, std::span<const std::byte> header,
                                                     std::span<const float> body) {
  ACID_ASSERT(to >= 0 && to < size(), "to {} of {}", to, size());
  ACID_ASSERT(header.size() <= kMostHeaderBytes, "a header of {} bytes", header.size());
  MutexLock lock(cluster_.mutex_);
  if (self().messages_left && (*self().messages_left)-- == 0) cluster_.kill_process(rank_);
  cluster_.check_alive(rank_);
  ACID_ASSERT(!self().left, "worker {} has left", rank_);
  const Ticket ticket = ++self().last_ticket;
  if (cluster_.process(to).left || cluster_.process(to).killed) return ticket;
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

std::optional<Mail> LocalCluster::Impl::Endpoint::next() {
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  if (self().inbox.empty()) return std::nullopt;
  Mail mail = std::move(self().inbox.front());
  self().inbox.pop_front();
  return mail;
}

Transport::Ticket LocalCluster::Impl::Endpoint::fetch(const Mail& mail, std::span<float> into) {
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

bool LocalCluster::Impl::Endpoint::done(Ticket ticket) {
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  return self().unfinished.count(ticket) == 0;
}

std::span<float> LocalCluster::Impl::Endpoint::open_window(std::size_t floats) {
  if (!cluster_.windows_) return {};
  MutexLock lock(cluster_.mutex_);
  self().window = std::make_unique<SharedWindow>();
  return self().window_memory = self().window->open(floats);
}

std::span<float> LocalCluster::Impl::Endpoint::window(int rank, std::size_t floats) {
  MutexLock lock(cluster_.mutex_);
  const std::span<float> memory = cluster_.process(rank).window_memory;
  return memory.size() == floats ? memory : std::span<float>{};
}

void LocalCluster::Impl::Endpoint::wait(double seconds) {
  const SteadyClock clock;
  const double until = clock.seconds() + seconds;
  MutexLock lock(cluster_.mutex_);
  cluster_.check_alive(rank_);
  while (!self().news && self().inbox.empty()) {
    const double left = until - clock.seconds();
    if (left <= 0) break;
    self().changed.wait_for(cluster_.mutex_, left);
    cluster_.check_alive(rank_);
  }
  self().news = false;
}

void LocalCluster::Impl::Endpoint::wake() {
  MutexLock lock(cluster_.mutex_);
  cluster_.notify(rank_);
}

void LocalCluster::Impl::Endpoint::outlive_losses() {
  MutexLock lock(cluster_.mutex_);
  self().outlives = true;
  cluster_.check_alive(rank_);
  for (int rank = 1; rank < size(); ++rank)
    if (cluster_.process(rank).killed) self().inbox.push_back({rank, {}, 0, 0, kHow});
}

void LocalCluster::Impl::Endpoint::leave() {
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

LocalCluster::LocalCluster(int size, bool windows) : impl_(std::make_unique<Impl>(size, windows)) {}
LocalCluster::~LocalCluster() = default;
Transport& LocalCluster::at(int rank) { return impl_->at(rank); }
void LocalCluster::kill(int rank) { impl_->kill(rank); }
void LocalCluster::kill_after(int rank, int messages) { impl_->kill_after(rank, messages); }

}  // namespace acid
