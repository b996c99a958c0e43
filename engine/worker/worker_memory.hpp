#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/worker/arena.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// The layout of one worker's vectors, a `stride` of elements apart, in two blocks: x and the
/// shared slots, which a partner may use, and the worker's own: snapshot, gradient, moments, other
/// slots, then buffers.
///
/// Vectors at nearly the same offset within 4 KiB pages slow each other: a load waits for a store
/// to the same offset elsewhere, which takes up to eight times as long in cache. So strides of long
/// vectors are 192 bytes more than a multiple of 1024: any two of six vectors are at least 64 bytes
/// apart within a page, mostly 192 or more.
template <class T>
class WorkerLayout {
 public:
  explicit WorkerLayout(const WorkerSettings& settings) : settings_(settings) {}

  bool is_long() const { return vector_bytes() >= kPageBytes; }
  /// Elements from one vector to the next.
  std::size_t stride() const {
    constexpr std::size_t kUnit = 1024, kRest = 192;
    const std::size_t bytes = is_long()
                                  ? (vector_bytes() - kRest + kUnit - 1) / kUnit * kUnit + kRest
                                  : whole_lines(vector_bytes());
    return bytes / sizeof(T);
  }
  /// Elements of x and the shared slots.
  std::size_t shared_size() const { return (1 + settings_.shared_slots) * stride(); }
  /// Numbers of vectors. Without gradients all three are 0; a rule with its own step has no moments
  /// of Adam.
  std::size_t snapshots() const { return settings_.gradients && settings_.snapshots ? 1 : 0; }
  std::size_t gradients() const { return settings_.gradients ? 1 : 0; }
  std::size_t moments() const {
    if (!settings_.gradients) return 0;
    const OptimizerKind kind = settings_.optimizer.kind;
    if (kind == OptimizerKind::adam || kind == OptimizerKind::adamw)
      return settings_.own_step ? 0 : 2;
    return settings_.optimizer.momentum > 0 ? 1 : 0;
  }
  std::size_t own_vectors() const {
    return snapshots() + gradients() + moments() + settings_.slots.size() - settings_.shared_slots;
  }
  // Where each begins in the worker's memory; null if there is none.
  T* snapshot(std::byte* own) const { return snapshots() == 0 ? nullptr : own_vector(own, 0); }
  T* gradient(std::byte* own) const {
    return gradients() == 0 ? nullptr : own_vector(own, snapshots());
  }
  T* moment(std::byte* own, std::size_t which) const {
    return which >= moments() ? nullptr : own_vector(own, snapshots() + gradients() + which);
  }
  T* slot(T* shared, std::byte* own, std::size_t index) const {
    if (index < settings_.shared_slots) return shared + (1 + index) * stride();
    return own_vector(own, snapshots() + gradients() + moments() + index - settings_.shared_slots);
  }
  /// Byte offset of the buffers (which = 0) and of those of the gradient in flight (1).
  std::size_t buffers_at(std::size_t which) const {
    return own_vectors() * stride() * sizeof(T) +
           which * whole_lines(settings_.buffer_size * sizeof(float));
  }
  std::size_t own_bytes() const { return buffers_at(2); }

  static constexpr std::size_t kPageBytes = 4096;

 private:
  static std::size_t whole_lines(std::size_t bytes) {
    constexpr std::size_t kLine = Backend::kAlignment;
    return (bytes + kLine - 1) / kLine * kLine;
  }
  std::size_t vector_bytes() const { return settings_.dimension * sizeof(T); }
  T* own_vector(std::byte* own, std::size_t index) const {
    return reinterpret_cast<T*>(own) + index * stride();
  }

  const WorkerSettings& settings_;
};

/// Memory for the vectors of `count` workers, one block of their backend. The shared vectors of all
/// workers with short vectors come first, so that exchanges touch few pages. Pages that are never
/// touched take no memory.
template <class T>
class WorkerMemory {
 public:
  /// `shared`: memory for x and the shared slots of one worker, shared_size() zeroed elements,
  /// aligned to 64 bytes, which outlive this; empty: they lie in the block.
  WorkerMemory(const WorkerSettings& settings, std::size_t count, std::span<T> shared = {});

  T* shared(std::size_t index) { return shared_ + index * shared_step_; }
  std::byte* own(std::size_t index) { return own_ + index * own_step_; }
  double* scalars(std::size_t index) { return scalars_.data() + index * scalars_step_; }

 private:
  Arena<std::byte> block_;
  T* shared_ = nullptr;
  std::byte* own_ = nullptr;
  std::size_t shared_step_ = 0;  // elements
  std::size_t own_step_ = 0;     // bytes
  std::vector<double> scalars_;  // in host memory for every backend
  std::size_t scalars_step_ = 0;
};

extern template class WorkerMemory<float>;
extern template class WorkerMemory<double>;

}  // namespace acid
