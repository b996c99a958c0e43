#pragma once

#include <cstdint>
#include <span>

#include "engine/worker/worker_vectors.hpp"

namespace acid {

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
