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

/// One replica of the model: its vectors, x and what the method keeps beside it, and the clock and
/// counts that go with them.
///
/// State changes only through the events below (docs/SEMANTICS.md). Each is a pure function of the
/// state and its arguments, given by the method's rule; so an asynchronous run can be replayed.
/// Times are normalised, and no event's t is before the last event's.
///
/// Not thread-safe: the driver serialises the events of a worker (the threads driver with the
/// worker's mutex). Between begin_gradient and commit_gradient the snapshot may be read without it.
/// One cache line in size, since there may be a million workers.
template <class T>
class alignas(64) BasicWorker : public WorkerVectors<T> {
 public:
  /// `index`: place in `memory`; `number`: the worker's number in the run. Settings and memory
  /// outlive the worker.
  BasicWorker(const WorkerSettings& settings, WorkerMemory<T>& memory, std::size_t index = 0,
              std::uint32_t number = 0)
      : WorkerVectors<T>(settings, memory, index), number_(number) {}

  /// Before any event: x ← x0, and the method's vectors and numbers ← their start values.
  void start(std::span<const T> x0, std::span<const float> buffers = {});

  /// Snapshot s ← the point where the gradient is to be taken. If no snapshots are kept, x must not
  /// change until the gradient is computed.
  void begin_gradient(double t);
  /// The gradient's step. With `begin_next` the next gradient begins at the same t in the same
  /// pass, as if begin_gradient(t) followed.
  void commit_gradient(double t, std::span<const T> g, double learning_rate,
                       bool begin_next = false);
  /// out ← the worker's message (Rule::message). Both partners of an exchange offer at one t.
  void offer(double t, std::span<T> out) { say_by(rule(), t, out); }
  /// Combines the two offers at t ≥ t_offer. The state becomes as if applied at t_offer.
  void apply(double t, double t_offer, std::span<const T> own, std::span<const T> partner);
  /// Hears the messages of a round.
  void hear(double t, const Heard<T>& heard) { hear_by(rule(), t, heard); }
  /// offer and hear by another rule, which keeps the same vectors and numbers.
  void say_by(const Rule<T>& rule, double t, std::span<T> out);
  void hear_by(const Rule<T>& rule, double t, const Heard<T>& heard);
  /// Brings the worker to t_end; what remains is the result.
  void finish(double t_end);

  /// offer and apply of both partners at one t in a single pass; the same bits as the four events.
  static void exchange(BasicWorker& i, BasicWorker& j, double t);
  /// This worker's part in exchange() if its partner makes the pass, perhaps in another process:
  /// until that ends, the partner alone uses this worker's shared memory. Returns the normalised
  /// time since the last event.
  double lend(double t);
  /// The pass at t over the partner's shared memory. `partner_elapsed`: what its lend() returned.
  void exchange_with(std::span<T> partner, double partner_elapsed, double t);

  /// out ← elements [first, first + out.size()) of the model as it would be at t, after hearing
  /// `pending`, unless null. Changes nothing (docs/SEMANTICS.md, Measuring).
  void read_at(double t, std::size_t first, std::span<T> out,
               const Heard<T>* pending = nullptr) const;

  template <class Archive>
  void persist(Archive& archive) {
    archive(last_, gradients_, updates_since_snapshot_, staleness_);
    for (std::size_t k = 0; k < settings_->scalars; ++k) archive(scalars_[k]);
  }
  /// The gradient in flight will be computed again.
  void restart_gradient();

  double last_event() const { return last_; }
  std::int64_t gradients() const { return gradients_; }
  /// Updates applied to x between the last committed gradient's snapshot and its commit.
  std::int64_t staleness() const { return staleness_; }

 private:
  using WorkerVectors<T>::settings_;
  using WorkerVectors<T>::x_;
  using WorkerVectors<T>::own_;
  using WorkerVectors<T>::scalars_;
  using WorkerVectors<T>::layout;
  using WorkerVectors<T>::buffers_at;
  const Rule<T>& rule() const { return settings_->rules.template of<T>(); }
  void take_snapshot_notes();
  /// The view for an event at t.
  WorkerView<T> at(double t) const;
  /// The same, and moves the clock to t.
  WorkerView<T> advance(double t);

  double last_ = 0;
  std::int64_t gradients_ = 0;                // committed
  std::uint32_t updates_since_snapshot_ = 0;  // of x, by any event; counts gradients' staleness
  std::uint32_t staleness_ = 0;
  std::uint32_t number_ = 0;
};

using Worker = BasicWorker<float>;
extern template class BasicWorker<float>;
extern template class BasicWorker<double>;

}  // namespace acid
