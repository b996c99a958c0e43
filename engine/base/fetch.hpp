#pragma once

namespace acid {

/// Asks the processor to bring what lies there into its cache; changes nothing, and any address
/// will do.
inline void fetch(const void* there) {
  __builtin_prefetch(there);
  // GCC takes functions that only fetch for functions that do nothing, and drops calls of them.
  asm volatile("");
}

}  // namespace acid
