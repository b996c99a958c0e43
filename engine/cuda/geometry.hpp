#pragma once

#include <cstddef>
#include <cstdint>

// The launch geometry of a kernel that visits each element once. Host code only, so that it can be
// tested without a device.

namespace acid::cuda {

inline constexpr std::size_t kAccessBytes = 16;  // the widest access of a thread
inline constexpr unsigned kThreadsPerBlock = 256;
/// Enough blocks to keep every multiprocessor's memory requests in flight; with longer vectors each
/// thread takes several turns.
inline constexpr unsigned kBlocksPerMultiprocessor = 8;

/// A vector in three parts: `head` single elements, `packs` of kAccessBytes each, which are
/// accessed at once, and `tail` single elements.
struct Split {
  std::size_t head = 0;
  std::size_t packs = 0;
  std::size_t tail = 0;
};

/// The split for vectors of `size` elements of `element_bytes` that begin at these addresses; null:
/// the vector is absent. Packs begin at a multiple of kAccessBytes in all vectors; if the vectors'
/// alignments differ, there are no packs.
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

/// The number of blocks of kThreadsPerBlock threads, at least one.
inline unsigned blocks(const Split& split, int multiprocessors) {
  const std::size_t alone = split.head + split.tail;
  const std::size_t turns = split.packs > alone ? split.packs : alone;
  const std::size_t wanted = (turns + kThreadsPerBlock - 1) / kThreadsPerBlock;
  const std::size_t most = static_cast<std::size_t>(multiprocessors) * kBlocksPerMultiprocessor;
  return static_cast<unsigned>(wanted == 0 ? 1 : wanted < most ? wanted : most);
}

}  // namespace acid::cuda
