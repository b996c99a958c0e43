#pragma once

#include <cstddef>
#include <cstdint>

// How a kernel that looks at each element once is laid out on the device. Host code alone, so that
// it can be tested without one.

namespace acid::cuda {

inline constexpr std::size_t kAccessBytes = 16;  // the widest access of a thread
inline constexpr unsigned kThreadsPerBlock = 256;
/// Enough blocks to keep every multiprocessor's memory requests in flight; each thread takes
/// several turns over longer vectors.
inline constexpr unsigned kBlocksPerMultiprocessor = 8;

/// Elements [0, head) and those behind the packs go one by one, the packs between them, of
/// kAccessBytes each, in single accesses.
struct Split {
  std::size_t head = 0;
  std::size_t packs = 0;
  std::size_t tail = 0;
};

/// For vectors of `size` elements of `element_bytes` that begin at these addresses; null: a vector
/// that is not there. Packs begin at a multiple of kAccessBytes in all of them; where no place is
/// one for all, there are none.
template <std::size_t count>
Split split(std::size_t size, std::size_t element_bytes, const void* const (&addresses)[count]) {
  bool any = false;
  std::size_t offset = 0;
  for (const void* address : addresses) {
    if (address == nullptr) continue;
    const std::size_t own = reinterpret_cast<std::uintptr_t>(address) % kAccessBytes;
    if (any && own != offset) return {size, 0, 0};
    any = true;
    offset = own;
  }
  const std::size_t width = kAccessBytes / element_bytes;
  const std::size_t head = offset == 0 ? 0 : (kAccessBytes - offset) / element_bytes;
  if (head >= size) return {size, 0, 0};
  const std::size_t packs = (size - head) / width;
  return {head, packs, size - head - packs * width};
}

/// Blocks of kThreadsPerBlock threads, at least one.
inline unsigned blocks(const Split& split, int multiprocessors) {
  const std::size_t alone = split.head + split.tail;
  const std::size_t turns = split.packs > alone ? split.packs : alone;
  const std::size_t wanted = (turns + kThreadsPerBlock - 1) / kThreadsPerBlock;
  const std::size_t most = static_cast<std::size_t>(multiprocessors) * kBlocksPerMultiprocessor;
  return static_cast<unsigned>(wanted == 0 ? 1 : wanted < most ? wanted : most);
}

}  // namespace acid::cuda
