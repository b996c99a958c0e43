#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace acid {

/// Incremental SHA-256. Not thread-safe; one thread per object.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(std::span<const std::byte> bytes);
  void update(std::string_view text) { update(std::as_bytes(std::span(text))); }
  /// 64 lower-case hexadecimal digits. Ends the digest: call once.
  std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

std::string sha256_hex(std::span<const std::byte> bytes);
std::string sha256_hex(std::string_view text);
/// Digest of a vector's bytes as stored (little-endian IEEE).
std::string sha256_hex(std::span<const float> values);
/// Digest of a file's content. Throws Error when it cannot be read.
std::string sha256_file(const std::string& path);

}  // namespace acid
