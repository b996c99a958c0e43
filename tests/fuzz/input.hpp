#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/error.hpp"
#include "tests/scratch.hpp"

// Shared by the fuzzers. Every exception that leaves LLVMFuzzerTestOneInput is a finding:
// acid::Error is caught where bad input is expected, AssertionError and others are not.

namespace acid::fuzz {

/// The bytes of one input, taken from the front. When they run out, numbers are 0 and texts end
/// early.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_(data, size) {}

  template <class Number>
  Number number() {
    Number value{};
    const std::size_t size = std::min(sizeof value, left_.size());
    if (size > 0) std::memcpy(&value, left_.data(), size);
    left_ = left_.subspan(size);
    return value;
  }
  /// A number below `count`: the next byte, modulo `count`.
  std::size_t below(std::size_t count) { return number<std::uint8_t>() % count; }
  std::span<const std::uint8_t> bytes(std::size_t size) {
    const auto taken = left_.first(std::min(size, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }
  /// The next section: a 16-bit length, then that many bytes.
  std::span<const std::uint8_t> section() { return bytes(number<std::uint16_t>()); }
  std::span<const std::uint8_t> rest() { return bytes(left_.size()); }
  std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::uint8_t> left_;
};

inline std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Whether the call succeeded; false when it was refused with an acid::Error, whose message must
/// not be empty.
template <class Call>
bool accepted(Call call) {
  try {
    call();
    return true;
  } catch (const Error& error) {
    ACID_ASSERT(std::strlen(error.what()) > 0, "an error without words");
    return false;
  }
}

/// A file in memory that has a path as long as the object lives.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("acid-fuzz", MFD_CLOEXEC)) {
    ACID_ASSERT(descriptor_ >= 0, "memfd_create: error {}", errno);
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void set(std::span<const std::uint8_t> content) {
    ACID_ASSERT(ftruncate(descriptor_, 0) == 0, "ftruncate: error {}", errno);
    ACID_ASSERT(pwrite(descriptor_, content.data(), content.size(), 0) == std::ssize(content),
                "pwrite: error {}", errno);
  }

 private:
  int descriptor_;
};

class Folder : public test::ScratchFolder {
 public:
  /// `name` always leads to the file's present content.
  void link(const std::string& name, const MemoryFile& file) const {
    std::filesystem::create_symlink(file.path(), path(name));
  }
};

}  // namespace acid::fuzz
