#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "engine/base/descriptor.hpp"
#include "engine/base/mutex.hpp"
#include "engine/worker/backend.hpp"

namespace acid {

/// The host's memory and kernels, in memory that other processes map as well: a worker's vector
/// reaches a model's process without a copy. It is one file in memory, named by its descriptor,
/// whose pages are taken when they are touched. Any thread.
class SharedMemory final : public Backend {
 public:
  /// Throws Error when the system has no such memory.
  SharedMemory();
  ~SharedMemory() override;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::string_view name() const override { return cpu_backend().name(); }
  void* allocate(std::size_t bytes) const override;
  void release(void* memory, std::size_t bytes) const noexcept override;

  /// The place in the file where other processes find the memory; absent for memory that was
  /// allocated elsewhere.
  std::optional<std::size_t> offset_of(const void* memory) const;
  int descriptor() const { return file_.get(); }
  std::size_t bytes() const { return bytes_; }

 protected:
  const kernels::Table<float>& floats() const override { return cpu_backend().kernels<float>(); }
  const kernels::Table<double>& doubles() const override { return cpu_backend().kernels<double>(); }

 private:
  Descriptor file_;
  std::size_t bytes_ = 0;
  std::byte* begin_ = nullptr;
  mutable Mutex mutex_;
  mutable std::size_t used_ GUARDED_BY(mutex_) = 0;
  mutable std::multimap<std::size_t, std::size_t> free_ GUARDED_BY(mutex_);  // bytes → offset
};

}  // namespace acid
