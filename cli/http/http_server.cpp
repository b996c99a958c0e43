#include "cli/http/http_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <thread>

#include "engine/base/clock.hpp"
#include "engine/base/descriptor.hpp"
#include "engine/base/error.hpp"
#include "engine/base/mutex.hpp"

namespace acid {
namespace {

constexpr std::size_t kAnsweringThreads = 8;
constexpr double kLongestWaitSeconds = 0.25;  // after which a thread checks whether it should end
constexpr double kSecondsAfterStop = 1;       // for clients that take an answer then
constexpr std::string_view kEndOfHead = "\r\n\r\n";

/// A client whose request has not arrived as a whole.
struct Caller {
  Descriptor socket;
  std::string head;
  double until = 0;
};

struct WholeRequest {
  Descriptor socket;
  HttpRequest request;
};

const char* reason_of(int status) {
  static const std::map<int, const char*> reasons{{200, "OK"},
                                                  {303, "See Other"},
                                                  {400, "Bad Request"},
                                                  {403, "Forbidden"},
                                                  {404, "Not Found"},
                                                  {405, "Method Not Allowed"},
                                                  {408, "Request Timeout"},
                                                  {431, "Request Header Fields Too Large"},
                                                  {503, "Service Unavailable"}};
  const auto found = reasons.find(status);
  return found == reasons.end() ? "Error" : found->second;
}

std::string head_of(const HttpResponse& response) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nConnection: close\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
      response.status, reason_of(response.status), response.type,
      response.body == nullptr ? 0 : response.body->size());
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  return head + "\r\n";
}

// Sends an answer to a client that is turned away, if that is possible at once.
void turn_away(const Descriptor& socket, int status) {
  const std::string head = head_of({status, {}, "text/plain; charset=utf-8", nullptr});
  ::send(socket.get(), head.data(), head.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

int milliseconds(double seconds) { return std::max(0, static_cast<int>(seconds * 1000) + 1); }

}  // namespace

struct HttpServer::Impl {
  explicit Impl(const HttpLimits& bounds) : limits(bounds) {}

  void read_heads() EXCLUDES_LOCK(mutex);
  void accept_callers();
  bool advance(Caller& caller) EXCLUDES_LOCK(mutex);  // false: it is done with
  void hand_on(WholeRequest request) EXCLUDES_LOCK(mutex);
  void answer_requests() EXCLUDES_LOCK(mutex);
  void answer(const WholeRequest& asked);
  bool send_all(const Descriptor& socket, std::string_view text, double until);

  const HttpLimits limits;
  const SteadyClock clock;
  Descriptor listener, wake;
  Handler handler;
  std::deque<Caller> callers;  // used by the reading thread; the oldest first
  std::atomic<bool> stopping{false};
  std::atomic<double> stopped_at{0};  // set before `stopping`
  Mutex mutex;
  Condition changed;
  std::deque<WholeRequest> waiting GUARDED_BY(mutex);
  std::vector<std::thread> threads;
};

HttpServer::HttpServer(const HttpLimits& limits) : impl_(std::make_unique<Impl>(limits)) {}

HttpServer::~HttpServer() {
  impl_->stopped_at = impl_->clock.seconds();
  {
    const MutexLock lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_all();
  }
  if (impl_->wake) ::eventfd_write(impl_->wake.get(), 1);
  for (std::thread& thread : impl_->threads) thread.join();
}

int HttpServer::bind(const std::string& address, int port) {
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  const bool valid = ::inet_pton(AF_INET, address.c_str(), &place.sin_addr) == 1;
  ACID_ASSERT(valid, "address '{}'", address);
  Descriptor opened(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened) return 0;
  const int yes = 1;
  ::setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  socklen_t size = sizeof place;
  if (::bind(opened.get(), reinterpret_cast<sockaddr*>(&place), size) != 0 ||
      ::listen(opened.get(), SOMAXCONN) != 0 ||
      ::getsockname(opened.get(), reinterpret_cast<sockaddr*>(&place), &size) != 0)
    return 0;
  impl_->listener = std::move(opened);
  return ntohs(place.sin_port);
}

void HttpServer::start(Handler handler) {
  impl_->handler = std::move(handler);
  impl_->wake = Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  impl_->threads.emplace_back([this] { impl_->read_heads(); });
  for (std::size_t k = 0; k < kAnsweringThreads; ++k)
    impl_->threads.emplace_back([this] { impl_->answer_requests(); });
}

void HttpServer::Impl::read_heads() {
  std::vector<pollfd> watched;
  while (!stopping) {
    double now = clock.seconds();
    double wait = kLongestWaitSeconds;
    if (!callers.empty()) wait = std::clamp(callers.front().until - now, 0.0, wait);
    watched.assign({{listener.get(), POLLIN, 0}, {wake.get(), POLLIN, 0}});
    for (const Caller& caller : callers) watched.push_back({caller.socket.get(), POLLIN, 0});
    ::poll(watched.data(), watched.size(), milliseconds(wait));
    now = clock.seconds();
    std::size_t next = 2;
    for (auto caller = callers.begin(); caller != callers.end();) {
      bool stays = watched[next++].revents == 0 || advance(*caller);
      if (stays && now >= caller->until) {
        turn_away(caller->socket, 408);
        stays = false;
      }
      caller = stays ? std::next(caller) : callers.erase(caller);
    }
    if (watched.front().revents != 0) accept_callers();
  }
}

void HttpServer::Impl::accept_callers() {
  // Accepts as many at a time as are kept, so that earlier clients get their turn.
  for (std::size_t k = 0; k < limits.connections; ++k) {
    Caller caller;
    caller.socket = Descriptor(uninterrupted(
        [&] { return ::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC); }));
    if (!caller.socket) {
      const bool none_left = errno == EAGAIN || errno == ECONNABORTED;
      // Without free descriptors or memory the listener stays ready, so polling would spin.
      if (!none_left) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return;
    }
    caller.until = clock.seconds() + limits.head_seconds;
    // Most clients have sent their request by now and need no place in the queue.
    if (!advance(caller)) continue;
    // The client that has been silent longest is the least likely to send something.
    if (callers.size() >= limits.connections) callers.pop_front();
    callers.push_back(std::move(caller));
  }
}

bool HttpServer::Impl::advance(Caller& caller) {
  std::array<char, 4096> piece;
  while (true) {
    const ssize_t got =
        uninterrupted([&] { return ::recv(caller.socket.get(), piece.data(), piece.size(), 0); });
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    const std::size_t before = caller.head.size();
    caller.head.append(piece.data(), static_cast<std::size_t>(got));
    const std::size_t end =
        caller.head.find(kEndOfHead, before - std::min(before, kEndOfHead.size() - 1));
    if (end != std::string::npos && end <= limits.head_bytes) {
      auto request = parse_http_head(std::string_view(caller.head).substr(0, end));
      if (request)
        hand_on({std::move(caller.socket), std::move(*request)});
      else
        turn_away(caller.socket, 400);
      return false;
    }
    if (caller.head.size() > limits.head_bytes) {
      turn_away(caller.socket, 431);
      return false;
    }
  }
}

void HttpServer::Impl::hand_on(WholeRequest request) {
  const MutexLock lock(mutex);
  if (waiting.size() >= limits.waiting_answers) return turn_away(request.socket, 503);
  waiting.push_back(std::move(request));
  changed.notify_one();
}

void HttpServer::Impl::answer_requests() {
  while (true) {
    std::optional<WholeRequest> next;
    {
      const MutexLock lock(mutex);
      while (waiting.empty() && !stopping) changed.wait(mutex);
      if (stopping) return;
      next = std::move(waiting.front());
      waiting.pop_front();
    }
    answer(*next);
  }
}

void HttpServer::Impl::answer(const WholeRequest& asked) {
  const HttpResponse response = handler(asked.request);
  const double until = clock.seconds() + limits.answer_seconds;
  bool sent = send_all(asked.socket, head_of(response), until);
  if (sent && response.body != nullptr && asked.request.method != "HEAD")
    sent = send_all(asked.socket, *response.body, until);
  if (!sent) return;
  ::shutdown(asked.socket.get(), SHUT_WR);
  // Bytes after the head are read and dropped: left unread, they would reset the connection.
  std::array<char, 4096> ignored;
  while (::recv(asked.socket.get(), ignored.data(), ignored.size(), MSG_DONTWAIT) > 0 &&
         clock.seconds() < until && !stopping) {
  }
}

bool HttpServer::Impl::send_all(const Descriptor& socket, std::string_view text, double until) {
  while (!text.empty()) {
    const ssize_t sent = uninterrupted([&] {
      return ::send(socket.get(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    });
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
    const double end = stopping ? std::min(until, stopped_at + kSecondsAfterStop) : until;
    const double left = end - clock.seconds();
    if (text.empty()) return true;
    if (left <= 0) return false;
    pollfd ready{socket.get(), POLLOUT, 0};
    if (sent < 0) ::poll(&ready, 1, milliseconds(std::min(left, kLongestWaitSeconds)));
  }
  return true;
}

}  // namespace acid
