#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "engine/base/descriptor.hpp"

namespace acid {

// How two processes of a run authenticate each other: the caller sends Hello, the other answers
// with a proof that it knows the run's secret, and the caller sends its own proof. Messages have a
// fixed size and this machine's byte order, as the vectors that follow.

constexpr std::uint64_t kMagic = 0x3164'6963'612d'6970;  // also tells the byte order
using Nonce = std::array<char, 16>;
using Proof = std::array<char, 64>;
struct Hello {
  std::uint64_t magic = kMagic;
  std::int32_t from = 0;
  std::int32_t to = 0;
  Nonce nonce{};
};
struct Answer {
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(Hello) == 32 && sizeof(Answer) == 80);

/// A secret for the run, from the kernel's generator: 64 hexadecimal digits.
std::string new_secret();
Nonce new_nonce();

/// The proof of knowing the secret, for one side ("caller" or "called") of one conversation.
Proof prove(const std::string& secret, const char* side, const Hello& hello, const Nonce& answer);

/// Whether the whole message was sent. The first messages of a connection always fit its buffer.
template <class T>
bool send_whole(int socket, const T& value) {
  const auto sent =
      uninterrupted([&] { return ::send(socket, &value, sizeof value, MSG_NOSIGNAL); });
  return sent == static_cast<ssize_t>(sizeof value);
}

/// Collects a message of known size that arrives in pieces, and reads no byte beyond it.
class PieceReader {
 public:
  enum class Result { partial, whole, closed };  // closed: see errno; 0: by the other side
  template <class T>
  Result read(int socket, T& value) {
    const std::size_t had = bytes_.size();
    bytes_.resize(sizeof value);
    const auto got =
        uninterrupted([&] { return ::recv(socket, bytes_.data() + had, sizeof value - had, 0); });
    bytes_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) errno = 0;
    if (got == 0 || (got < 0 && errno != EAGAIN)) return Result::closed;
    if (bytes_.size() < sizeof value) return Result::partial;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.clear();
    return Result::whole;
  }

 private:
  std::vector<char> bytes_;
};

}  // namespace acid
