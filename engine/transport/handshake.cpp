#include "engine/transport/handshake.hpp"

#include <sys/random.h>

#include <span>
#include <string_view>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

void fill_randomly(void* into, std::size_t size) {
  const auto got = uninterrupted([&] { return ::getrandom(into, size, 0); });
  ACID_ASSERT(got == static_cast<ssize_t>(size), "getrandom gave {} of {} bytes", got, size);
}

}  // namespace

std::string new_secret() {
  std::array<std::byte, 32> bytes;
  fill_randomly(bytes.data(), bytes.size());
  return sha256_hex(std::span<const std::byte>(bytes));
}

Nonce new_nonce() {
  Nonce nonce;
  fill_randomly(nonce.data(), nonce.size());
  return nonce;
}

Proof prove(const std::string& secret, const char* side, const Hello& hello, const Nonce& answer) {
  Sha256 digest;
  digest.update(std::string_view(side));
  digest.update(std::string_view(secret));
  digest.update(std::as_bytes(std::span(&hello, 1)));
  digest.update(std::string_view(answer.data(), answer.size()));
  const std::string text = digest.hex();
  Proof proof;
  std::copy(text.begin(), text.end(), proof.begin());
  return proof;
}

}  // namespace acid
