#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/worker/kernel_compiler.hpp"
#include "engine/worker/kernels.hpp"

namespace acid {

/// A kind of memory for the vectors of workers, and the kernels that work on it. Every backend
/// gives the same bits. The host may read and write any backend's memory, perhaps slowly, while no
/// kernel is using it.
///
/// Immutable; any thread. Outlives all memory it allocated.
class Backend {
 public:
  virtual ~Backend() = default;

  /// For messages and records: "cpu/avx2".
  virtual std::string_view name() const = 0;

  /// `bytes` > 0 of zeroed memory, aligned to kAlignment; throws std::bad_alloc or Error.
  virtual void* allocate(std::size_t bytes) const = 0;
  /// Frees what allocate(bytes) gave.
  virtual void release(void* memory, std::size_t bytes) const noexcept = 0;

  /// Whether the host accesses this memory at the speed of its own. If not, every page that it
  /// touches moves to the host and back: prefer gather() and the kernel `copy`.
  virtual bool is_host_memory() const { return true; }
  /// out[k] ← x[positions[k]], at most 64 elements; `positions` and `out` are in host memory.
  virtual void gather(const float* x, std::span<const std::size_t> positions, float* out) const {
    for (const std::size_t position : positions) *out++ = x[position];
  }
  /// The backend for messages: its memory is host memory, which a transport can use, and which the
  /// same kernels reach.
  virtual const Backend& messages() const { return *this; }
  /// Compiles kernels for this memory when a run starts. Null: the host executes listings.
  virtual const KernelCompiler* compiler() const { return nullptr; }

  template <class T>
  const kernels::Table<T>& kernels() const {
    if constexpr (std::is_same_v<T, float>)
      return floats();
    else
      return doubles();
  }

  static constexpr std::size_t kAlignment = 64;  // a cache line

 protected:
  virtual const kernels::Table<float>& floats() const = 0;
  virtual const kernels::Table<double>& doubles() const = 0;
};

/// Host memory and the fastest instruction set that processor and compiler have, chosen at the
/// first call. The environment variable ACID_KERNELS (baseline, avx2, avx512) overrides it, for
/// tests and measurements. UsageError for a value that is unknown or that this processor lacks.
const Backend& cpu_backend();

/// With the named instruction set; null if it is unknown or cannot be used here.
const Backend* cpu_backend(std::string_view instruction_set);

}  // namespace acid
