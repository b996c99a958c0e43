#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace acid {

/// The address of a text in a process's memory. Another process that finds the expected text there
/// can read that memory.
struct MemorySign {
  std::int64_t pid = 0;
  std::uint64_t address = 0;
  std::int64_t window = -1;  // the number of its SharedWindow
};

/// Copies directly out of other processes' memory on the same host (process_vm_readv): one copy,
/// made by the reader alone. It needs permission to trace them, which containers and security
/// modules may refuse, and process numbers may differ between containers. So can_read() tries it
/// first.
class DirectMemory {
 public:
  /// `secret`: of the run.
  DirectMemory(int rank, const std::string& secret);
  DirectMemory(const DirectMemory&) = delete;
  DirectMemory& operator=(const DirectMemory&) = delete;
  MemorySign sign() const;

  /// Whether the sign's process is worker `rank` of this run and can be read.
  static bool can_read(const MemorySign& sign, int rank, const std::string& secret);
  /// Throws Error with the reason if it fails.
  static void read(std::int64_t pid, std::uint64_t address, std::span<float> into);

 private:
  const std::string text_;
};

}  // namespace acid
