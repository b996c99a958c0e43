#include "engine/base/digest.hpp"

#include <openssl/evp.h>

#include <array>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"

namespace acid {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(evp); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  ACID_ASSERT(EVP_DigestInit_ex(context_->evp, EVP_sha256(), nullptr) == 1, "OpenSSL SHA-256");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(context_->evp, bytes.data(), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_->evp, digest.data(), &length);
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.hex();
}

std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text))); }

std::string sha256_hex(std::span<const float> values) { return sha256_hex(std::as_bytes(values)); }

std::string sha256_file(const std::string& path) {
  const RegularFile file(path);
  Sha256 digest;
  std::vector<std::byte> block(1 << 16);
  while (const std::size_t bytes = file.read(block)) digest.update(std::span(block).first(bytes));
  return digest.hex();
}

}  // namespace acid
