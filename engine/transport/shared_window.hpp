#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/descriptor.hpp"

namespace acid {

/// Memory of this process that other processes on its host can map by its file descriptor: one
/// range of floats, shared while this object lives.
class SharedWindow {
 public:
  SharedWindow();
  ~SharedWindow();
  SharedWindow(const SharedWindow&) = delete;
  SharedWindow& operator=(const SharedWindow&) = delete;

  /// −1 if the kernel has no such memory.
  int descriptor() const { return descriptor_.get(); }
  /// Zeroed memory from the beginning of a page; call it once. Empty if there is no such memory.
  std::span<float> open(std::size_t floats);

 private:
  Descriptor descriptor_;
  std::span<float> memory_;
};

/// The window of another process, mapped while this object lives.
class MappedWindow {
 public:
  MappedWindow() = default;
  /// Empty if it cannot be mapped here or has another size.
  MappedWindow(std::int64_t pid, int descriptor, std::size_t floats);
  ~MappedWindow();
  MappedWindow(MappedWindow&& other) noexcept;
  MappedWindow& operator=(MappedWindow&& other) noexcept;
  std::span<float> memory() const { return memory_; }

 private:
  std::span<float> memory_;
};

}  // namespace acid
