#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/base/mutex.hpp"
#include "engine/worker/backend.hpp"

namespace acid::test {

/// Stands for a device: host memory that claims not to be host memory, and the processor's kernels,
/// which check that a device could reach all their vectors. There is one.
class StrictBackend final : public Backend {
 public:
  std::string_view name() const override { return "strict"; }
  void* allocate(std::size_t bytes) const override;
  void release(void* memory, std::size_t bytes) const noexcept override;
  bool is_host_memory() const override { return false; }
  void gather(const float* x, std::span<const std::size_t> positions, float* out) const override;
  const Backend& messages() const override;

  /// Whether all of it is in one piece of memory that was allocated here, or also in messages().
  bool holds(const void* memory, std::size_t bytes) const;
  bool reaches(const void* memory, std::size_t bytes) const;

  std::int64_t allocated() const;  // pieces of both kinds that were not released
  std::int64_t calls() const { return calls_.load(); }
  std::int64_t gathered() const { return gathered_.load(); }
  /// The first memory given to a kernel that a device could not reach; "" so far.
  std::string complaint() const;

  void count_call() const { calls_.fetch_add(1); }
  void complain(const char* kernel) const;
  void add(void* memory, std::size_t bytes, bool messages) const;
  void remove(void* memory) const noexcept;

 protected:
  const kernels::Table<float>& floats() const override;
  const kernels::Table<double>& doubles() const override;

 private:
  struct Piece {
    std::size_t bytes = 0;
    bool messages = false;
  };
  const Piece* piece_of(const void* memory, std::size_t bytes) const REQUIRES_LOCK(mutex_);

  mutable Mutex mutex_;
  mutable std::map<std::uintptr_t, Piece> pieces_ GUARDED_BY(mutex_);
  mutable std::string complaint_ GUARDED_BY(mutex_);
  mutable std::atomic<std::int64_t> calls_{0}, gathered_{0};
};

const StrictBackend& strict_backend();

}  // namespace acid::test
