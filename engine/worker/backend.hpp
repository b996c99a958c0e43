#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/worker/kernel_compiler.hpp"
#include "engine/worker/kernels.hpp"

namespace acid {

/// Where the vectors of workers lie and what changes them: a kind of memory, and the kernels that
/// work on it. Every backend gives the same bits. The host may read and write the memory of any
/// backend while no kernel is using it, at whatever speed.
///
/// Immutable, used by any number of threads, and outlives all memory it allocated.
class Backend {
 public:
  virtual ~Backend() = default;

  /// For messages and records: "cpu/avx2".
  virtual std::string_view name() const = 0;

  /// `bytes` > 0 of zeroed memory, aligned to kAlignment at least; throws std::bad_alloc or Error.
  virtual void* allocate(std::size_t bytes) const = 0;
  /// Takes back what allocate(bytes) gave.
  virtual void release(void* memory, std::size_t bytes) const noexcept = 0;

  /// Whether the host reads and writes this memory as it does its own. Where not, every page that
  /// it touches has to come, and to go back: gather() and the kernel `copy` are the better way.
  virtual bool is_host_memory() const { return true; }
  /// out[k] ← x[positions[k]], of at most 64 elements; `positions` and `out` are the host's.
  virtual void gather(const float* x, std::span<const std::size_t> positions, float* out) const {
    for (const std::size_t position : positions) *out++ = x[position];
  }
  /// The same kernels on memory that a transport can send from and fetch into: this one, if the
  /// host's, else host memory that the kernels reach as well.
  virtual const Backend& messages() const { return *this; }
  /// What makes kernels for this memory when a run starts. Null: the host's code does.
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

/// Host memory, and the fastest instruction set that processor and compiler have, chosen at the
/// first call. The environment's ACID_KERNELS = baseline, avx2 or avx512 overrides the choice, for
/// tests and measurements; a value that is unknown, or that this processor lacks, is a UsageError.
const Backend& cpu_backend();

/// The same with the named instruction set; null if it is unknown or cannot be used here.
const Backend* cpu_backend(std::string_view instruction_set);

}  // namespace acid
