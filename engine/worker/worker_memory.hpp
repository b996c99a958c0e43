#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/worker/arena.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// How the vectors of one worker lie: one `stride` of elements after the other, those that a
/// partner may need, x and the shared slots, apart from its own: snapshot, gradient, the moments
/// and the other slots, then the buffers.
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
  /// Elements of x and the shared slots.
  std::size_t shared_size() const { return (1 + settings_.shared_slots) * stride(); }
  /// Without gradients there is neither of them, nor moments; a rule with a step of its own has
  /// none of Adam's.
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
  // Where one begins in the memory of a worker; null where there is none.
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
  T* own_vector(std::byte* own, std::size_t index) const {
    return reinterpret_cast<T*>(own) + index * stride();
  }

  const WorkerSettings& settings_;
};

/// Memory for the vectors of `count` workers, in one block of their backend's. Those of a worker
/// whose vectors are short are not together: what is shared of all workers comes first, so that
/// exchanges on their own touch few pages; what nobody touches takes little memory or none.
template <class T>
class WorkerMemory {
 public:
  /// `shared`: where x and the shared slots of one worker are to lie, shared_size() zeroed
  /// elements, aligned to 64 bytes, that outlive this; empty: in the block.
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
  std::vector<double> scalars_;  // the host's, whatever the backend
  std::size_t scalars_step_ = 0;
};

extern template class WorkerMemory<float>;
extern template class WorkerMemory<double>;

}  // namespace acid
