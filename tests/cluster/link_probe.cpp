// Measures a link: the round trip of small messages and the bytes per second of a bulk transfer
// over one TCP connection.
//   acid_link_probe serve PORT          answers one client, then ends
//   acid_link_probe measure ADDRESS PORT ROUNDS BYTES
// prints "round_trip_seconds MEDIAN bytes_per_second RATE" (IPv4 addresses only).
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"

namespace {

using acid::Error;

constexpr std::size_t kChunk = 1 << 16;
constexpr int kPatienceSeconds = 60;  // without a byte

int checked(ssize_t result, const char* what) {
  if (result < 0) throw Error(fmt::format("{}: {}", what, std::strerror(errno)));
  return static_cast<int>(result);
}

sockaddr_in address_of(const char* host, const char* port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
  if (inet_pton(AF_INET, host, &address.sin_addr) != 1)
    throw acid::UsageError(fmt::format("'{}' is not an IPv4 address", host));
  return address;
}

void prepare(int socket) {
  const int yes = 1;
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

int accept_one(const char* port) {
  const int listener = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = address_of("0.0.0.0", port);
  checked(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address), "bind");
  checked(listen(listener, 1), "listen");
  pollfd waiting{listener, POLLIN, 0};
  if (poll(&waiting, 1, kPatienceSeconds * 1000) != 1) throw Error("no connection came");
  const int peer = checked(accept(listener, nullptr, nullptr), "accept");
  close(listener);
  prepare(peer);
  return peer;
}

// Connects, and tries again for some seconds, since the server may still be starting.
int connect_to(const char* host, const char* port) {
  const sockaddr_in address = address_of(host, port);
  for (int tries = 0;; ++tries) {
    const int peer = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
    prepare(peer);
    if (connect(peer, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return peer;
    if (tries >= 100) checked(-1, "connect");
    close(peer);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void send_all(int peer, std::size_t bytes) {
  const std::vector<char> chunk(std::min(bytes, kChunk));
  while (bytes > 0)
    bytes -= static_cast<std::size_t>(
        checked(send(peer, chunk.data(), std::min(bytes, chunk.size()), MSG_NOSIGNAL), "send"));
}

void receive_all(int peer, std::size_t bytes) {
  std::vector<char> chunk(std::min(bytes, kChunk));
  while (bytes > 0) {
    const int size = checked(recv(peer, chunk.data(), std::min(bytes, chunk.size()), 0), "receive");
    if (size == 0) throw Error("the other side closed the connection");
    bytes -= static_cast<std::size_t>(size);
  }
}

struct Request {
  std::uint64_t rounds = 0, bytes = 0;
};

// Answers one byte a round, then acknowledges the bulk by one byte.
void serve(int peer) {
  Request request;
  if (checked(recv(peer, &request, sizeof request, MSG_WAITALL), "receive") != sizeof request)
    throw Error("the other side closed the connection");
  for (std::uint64_t k = 0; k < request.rounds; ++k) {
    receive_all(peer, 1);
    send_all(peer, 1);
  }
  receive_all(peer, request.bytes);
  send_all(peer, 1);
}

void measure(int peer, const Request& request) {
  const acid::SteadyClock clock;
  checked(send(peer, &request, sizeof request, MSG_NOSIGNAL), "send");
  std::vector<double> trips(request.rounds);
  for (double& trip : trips) {
    const double start = clock.seconds();
    send_all(peer, 1);
    receive_all(peer, 1);
    trip = clock.seconds() - start;
  }
  const auto middle = trips.begin() + static_cast<std::ptrdiff_t>(trips.size() / 2);
  std::nth_element(trips.begin(), middle, trips.end());
  const double start = clock.seconds();
  send_all(peer, request.bytes);
  receive_all(peer, 1);
  const double seconds = clock.seconds() - start;
  fmt::print("round_trip_seconds {:.6f} bytes_per_second {:.4g}\n", *middle,
             static_cast<double>(request.bytes) / seconds);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 3 && std::strcmp(words[1], "serve") == 0)
      serve(accept_one(words[2]));
    else if (count == 6 && std::strcmp(words[1], "measure") == 0 && std::atoll(words[4]) > 0)
      measure(connect_to(words[2], words[3]),
              {std::strtoull(words[4], nullptr, 10), std::strtoull(words[5], nullptr, 10)});
    else
      throw acid::UsageError("serve PORT, or measure ADDRESS PORT ROUNDS BYTES (ROUNDS above 0)");
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "acid_link_probe: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
