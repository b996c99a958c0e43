#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace acid {

/// Where a process shows what the others must find there to believe that they can read its memory.
struct MemorySign {
  std::int64_t pid = 0;
  std::uint64_t address = 0;
  std::int64_t window = -1;  // the number of its SharedWindow
};

/// Copies straight out of other processes' memory on the same host (process_vm_readv): one copy,
/// made by the reader alone, so that the owner need not be awake. Needs the permission to trace
/// them, which containers and security modules may withhold; process numbers may mean something
/// else over there. Hence signs, which are looked at before anything is relied on.
class DirectMemory {
 public:
  /// `secret` is the run's.
  DirectMemory(int rank, const std::string& secret);
  DirectMemory(const DirectMemory&) = delete;
  DirectMemory& operator=(const DirectMemory&) = delete;
  MemorySign sign() const;

  /// Whether the process behind the sign is that worker of this run, and can be read.
  static bool can_read(const MemorySign& sign, int rank, const std::string& secret);
  /// Throws Error saying why it cannot.
  static void read(std::int64_t pid, std::uint64_t address, std::span<float> into);

 private:
  const std::string text_;
};

}  // namespace acid
