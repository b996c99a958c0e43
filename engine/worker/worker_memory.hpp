#pragma once

#include <cstddef>
#include <span>

#include "engine/worker/arena.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// How the vectors of one worker lie: one `stride` of elements after the other, those that a
/// partner may need, x and x̃, apart from its own: snapshot, gradient and the moments, then the
/// buffers.
///
/// Vectors that start at nearly the same offset within 4 KiB pages hinder each other: a load that
/// follows a store to that offset elsewhere waits for it, which costs up to eight times the time in
/// cache. Strides of long vectors leave 192 over from 1024 bytes: of six streams at multiples of
/// them any two are at least 64 bytes apart within a page, and mostly 192 or more.
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
  /// Elements of x and, if there is one, x̃.
  std::size_t shared_size() const {
    return settings_.mixing.has_momentum() ? 2 * stride() : stride();
  }
  /// Snapshot, gradient and the optimiser's moments; without gradients there are none.
  std::size_t own_vectors() const {
    if (!settings_.gradients) return 0;
    const std::size_t snapshot_and_gradient = settings_.snapshots ? 2 : 1;
    if (settings_.optimizer.kind != OptimizerKind::sgd) return snapshot_and_gradient + 2;
    return snapshot_and_gradient + (settings_.optimizer.momentum > 0 ? 1 : 0);
  }
  /// Where the buffers begin, and after them those of the gradient in flight.
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

  const WorkerSettings& settings_;
};

/// Memory for the vectors of `count` workers, in one block of their backend's. Those of a worker
/// whose vectors are short are not together: x and x̃ of all workers come first, so that exchanges
/// on their own touch few pages; what nobody touches takes little memory or none.
template <class T>
class WorkerMemory {
 public:
  /// `shared`: where x and x̃ of one worker are to lie, WorkerLayout::shared_size() zeroed
  /// elements, aligned to 64 bytes, that outlive this; empty: in the block.
  WorkerMemory(const WorkerSettings& settings, std::size_t count, std::span<T> shared = {});

  T* shared(std::size_t index) { return shared_ + index * shared_step_; }
  std::byte* own(std::size_t index) { return own_ + index * own_step_; }

 private:
  Arena<std::byte> block_;
  T* shared_ = nullptr;
  std::byte* own_ = nullptr;
  std::size_t shared_step_ = 0;  // elements
  std::size_t own_step_ = 0;     // bytes
};

extern template class WorkerMemory<float>;
extern template class WorkerMemory<double>;

}  // namespace acid
