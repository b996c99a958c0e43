#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "engine/worker/backend.hpp"

namespace acid {

/// One flat vector of `size` elements in a backend's memory, zeroed. Owns it; movable, so the
/// address of the elements is stable for the arena's life. T needs no constructor.
template <class T>
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::size_t size, const Backend& backend = cpu_backend()) : backend_(&backend) {
    if (size == 0) return;
    values_ = static_cast<T*>(backend.allocate(size * sizeof(T)));
    size_ = size;
  }
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Arena() {
    if (size_ > 0) backend_->release(values_, size_ * sizeof(T));
  }

  std::size_t size() const { return size_; }
  T* data() { return values_; }
  const T* data() const { return values_; }
  std::span<T> span() { return {values_, size_}; }
  std::span<const T> span() const { return {values_, size_}; }

 private:
  void swap(Arena& other) noexcept {
    std::swap(backend_, other.backend_);
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
  }

  const Backend* backend_ = nullptr;
  T* values_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace acid
