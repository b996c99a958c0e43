#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/worker/worker_memory.hpp"

namespace acid {

/// The vectors of one worker in a WorkerMemory, for reading and for checkpoints. Otherwise only
/// events change them (BasicWorker).
template <class T>
class WorkerVectors {
 public:
  /// As BasicWorker's.
  WorkerVectors(const WorkerSettings& settings, WorkerMemory<T>& memory, std::size_t index)
      : settings_(&settings),
        x_(memory.shared(index)),
        own_(memory.own(index)),
        scalars_(memory.scalars(index)) {}
  /// Elements that x and the shared slots of one worker take in shared memory.
  static std::size_t shared_size(const WorkerSettings& settings) {
    return WorkerLayout<T>(settings).shared_size();
  }

  std::span<const T> x() const { return {x_, dimension()}; }
  /// The method's vector of that name; empty: it has none.
  std::span<const T> slot(std::string_view name) const;
  std::span<const T> slot(std::size_t index) const {
    return {layout().slot(x_, own_, index), dimension()};
  }
  std::size_t slots() const { return settings_->slots.size(); }
  std::span<const double> scalars() const { return {scalars_, settings_->scalars}; }
  /// Bytes that the worker received beside its messages (Rule::extra_floats). Any thread.
  std::int64_t extra_bytes() const {
    const auto count = settings_->rules.template of<T>().extra_floats();
    return count ? static_cast<std::int64_t>(4 * std::atomic_ref(scalars_[*count]).load()) : 0;
  }
  /// The point of the gradient in flight; x() if no snapshots are kept. Empty in a run without
  /// gradients.
  std::span<const T> snapshot() const {
    return settings_->snapshots ? vector(layout().snapshot(own_)) : x();
  }
  bool keeps_snapshots() const { return settings_->snapshots; }
  /// Room for the gradient in flight; the worker itself does not read it.
  std::span<T> gradient() { return vector(layout().gradient(own_)); }
  /// Batch-norm statistics and similar, as of the last committed gradient. The gradient in flight
  /// changes a copy, gradient_buffers(), which its commit makes current.
  std::span<const float> buffers() const { return buffers_at(0); }
  std::span<float> gradient_buffers() { return buffers_at(1); }
  /// The backend of all these vectors.
  const Backend& backend() const { return *settings_->backend; }

  /// Calls visit(name, span) for every vector of the state, empty ones too. Together with the
  /// numbers of BasicWorker::persist() they are the whole state between two events, except for the
  /// gradient in flight, which is computed again from the snapshot after restart_gradient().
  template <class Visit>
  void for_each_vector(Visit visit) {
    const WorkerLayout<T> lies = layout();
    const auto visit_slots = [&](std::size_t from, std::size_t to) {
      for (std::size_t k = from; k < to; ++k)
        visit(settings_->slots[k].name, vector(lies.slot(x_, own_, k)));
    };
    visit("x", vector(x_));
    visit_slots(0, settings_->shared_slots);
    visit("snapshot", vector(lies.snapshot(own_)));
    visit("moment1", vector(lies.moment(own_, 0)));
    visit("moment2", vector(lies.moment(own_, 1)));
    visit_slots(settings_->shared_slots, slots());
    visit("buffers", buffers_at(0));
  }
  template <class Visit>
  void for_each_vector(Visit visit) const {
    const_cast<WorkerVectors*>(this)->for_each_vector(
        [&]<class E>(std::string_view name, std::span<E> vector) {
          visit(name, std::span<const E>(vector));
        });
  }

 protected:
  std::size_t dimension() const { return settings_->dimension; }
  WorkerLayout<T> layout() const { return WorkerLayout<T>(*settings_); }
  /// Empty when there is none.
  std::span<T> vector(T* values) const { return {values, values == nullptr ? 0 : dimension()}; }
  /// 0: the current buffers; 1: those of the gradient in flight.
  std::span<float> buffers_at(std::size_t which) const {
    return {reinterpret_cast<float*>(own_ + layout().buffers_at(which)), settings_->buffer_size};
  }

  const WorkerSettings* settings_;
  T* x_;
  std::byte* own_;
  double* scalars_;
};

extern template class WorkerVectors<float>;
extern template class WorkerVectors<double>;

}  // namespace acid
