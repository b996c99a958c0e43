#pragma once

namespace acid {

/// Asks the processor to bring the bytes at this address into its cache. It changes nothing, and
/// any address is allowed.
inline void fetch(const void* there) {
  __builtin_prefetch(there);
  // GCC takes a function that only fetches for one without effect, and drops calls of it.
  asm volatile("");
}

}  // namespace acid
