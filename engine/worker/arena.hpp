#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace acid {

/// One flat vector of `size` elements, zeroed, aligned to 64 bytes. Owns its memory, unless it was
/// given some; movable, so the address of the elements is stable for the arena's life.
template <class T>
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::size_t size) : size_(size) {
    if (size == 0) return;
    values_.reset(static_cast<T*>(::operator new[](size * sizeof(T), kAlignment)));
    for (std::size_t k = 0; k < size; ++k) values_.get()[k] = T(0);
  }
  /// In memory that outlives it, zeroed and aligned like its own.
  explicit Arena(std::span<T> memory) : values_(memory.data(), Free{false}), size_(memory.size()) {}

  std::size_t size() const { return size_; }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  std::span<T> span() { return {values_.get(), size_}; }
  std::span<const T> span() const { return {values_.get(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    bool owned = true;
    void operator()(T* values) const {
      if (owned) ::operator delete[](values, kAlignment);
    }
  };
  std::unique_ptr<T, Free> values_;
  std::size_t size_ = 0;
};

}  // namespace acid
