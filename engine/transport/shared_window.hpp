#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/descriptor.hpp"

namespace acid {

/// Memory of this process that others on its host can map, by its number among this process's
/// files: one range of floats, shared while it lives.
class SharedWindow {
 public:
  SharedWindow();
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// −1 where the kernel has no such memory.
  int descriptor() const { return descriptor_.get(); }
  /// Zeroed, at the beginning of a page; once. Empty where there is no such memory.
  std::span<float> open(std::size_t floats);

 private:
  Descriptor descriptor_;
  std::span<float> memory_;
};

/// What another process opened. Unmapped at the end.
class MappedWindow {
 public:
  MappedWindow() = default;
  /// Empty when it cannot be mapped here, or has another size.
  MappedWindow(std::int64_t pid, int descriptor, std::size_t floats);
  ~MappedWindow();
  MappedWindow(MappedWindow&& other) noexcept;
  MappedWindow& operator=(MappedWindow&& other) noexcept;
  std::span<float> memory() const { return memory_; }

 private:
  std::span<float> memory_;
};

}  // namespace acid
