#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/worker/worker_memory.hpp"

namespace acid {

/// One replica of the model: x and what the method keeps beside it, with the optimiser's state.
///
/// State changes only through the events below (docs/SEMANTICS.md), each a pure function of the
/// state and the event's arguments; this is what makes an asynchronous run replayable. What an
/// event does is the method's rule. Times are normalised, and each event's t must not be before the
/// last event's.
///
/// Not thread-safe: the driver serialises the events of a worker (the threads driver with the
/// worker's mutex). Between begin_gradient and commit_gradient the snapshot may be read without it.
/// It is small, a cache line: there may be a million.
template <class T>
class alignas(64) BasicWorker {
 public:
  /// Worker `index` of those that the memory was made for. Settings and memory outlive it.
  BasicWorker(const WorkerSettings& settings, WorkerMemory<T>& memory, std::size_t index = 0)
      : settings_(&settings),
        x_(memory.shared(index)),
        own_(memory.own(index)),
        scalars_(memory.scalars(index)) {}
  /// Elements that x and the shared slots of one worker take, where they are to lie in memory that
  /// is shared.
  static std::size_t shared_size(const WorkerSettings& settings) {
    return WorkerLayout<T>(settings).shared_size();
  }

  /// x ← x0, and what the method keeps beside it to its start; before any event.
  void start(std::span<const T> x0, std::span<const float> buffers = {});

  /// Snapshot s ← where the gradient is to be taken. Where settings keep no snapshots, nothing may
  /// change x until the gradient has been computed.
  void begin_gradient(double t);
  /// The gradient's step. With `begin_next` the next gradient begins at the same t in the same
  /// pass, as if begin_gradient(t) followed.
  void commit_gradient(double t, std::span<const T> g, double learning_rate,
                       bool begin_next = false);
  /// out ← the worker's message (Rule::message). Both partners of an exchange offer at one
  /// t.
  void offer(double t, std::span<T> out);
  /// Combines the two offers at t ≥ t_offer, so that the state is what it would be had this
  /// happened at t_offer.
  void apply(double t, double t_offer, std::span<const T> own, std::span<const T> partner);
  /// Hears the messages of a round.
  void hear(double t, const Heard<T>& heard);
  /// Brings the worker to t_end; what remains is the result.
  void finish(double t_end);

  /// offer and apply of both partners at one t in a single pass; the same bits as the four events.
  static void exchange(BasicWorker& i, BasicWorker& j, double t);
  /// A worker's part in that, where its partner makes the pass, perhaps in another process: until
  /// that is over the memory it shares is the partner's. Returns the normalised time since its last
  /// event.
  double lend(double t);
  /// That pass, at t, with the memory that the partner shares and what its lend() gave.
  void exchange_with(std::span<T> partner, double partner_elapsed, double t);

  /// out ← elements [first, first + out.size()) of the model as it would be at t, with `pending`,
  /// unless it is null, heard; changes nothing (docs/SEMANTICS.md: measuring never does).
  void read_at(double t, std::size_t first, std::span<T> out,
               const Heard<T>* pending = nullptr) const;

  std::span<const T> x() const { return {x_, dimension()}; }
  /// What the method keeps beside it; empty when it keeps nothing of that name.
  std::span<const T> slot(std::string_view name) const;
  std::span<const T> slot(std::size_t index) const {
    return {layout().slot(x_, own_, index), dimension()};
  }
  std::size_t slots() const { return settings_->slots.size(); }
  std::span<const double> scalars() const { return {scalars_, settings_->scalars}; }
  /// Where the gradient in flight is computed: x() itself where none is kept. Empty in a run
  /// without gradients.
  std::span<const T> snapshot() const {
    return settings_->snapshots ? vector(layout().snapshot(own_)) : x();
  }
  bool keeps_snapshots() const { return settings_->snapshots; }
  /// Where the gradient in flight may be computed: the worker itself does not look at it.
  std::span<T> gradient() { return vector(layout().gradient(own_)); }
  /// Batch-norm statistics and the like, as of the last committed gradient. The gradient in flight
  /// works on a copy of its own, gradient_buffers(), which its commit makes current.
  std::span<const float> buffers() const { return buffers_at(0); }
  std::span<float> gradient_buffers() { return buffers_at(1); }
  /// Whose memory all of these are.
  const Backend& backend() const { return *settings_->backend; }

  /// Calls visit(name, span) for every vector of the state, empty ones too. With the numbers that
  /// persist() keeps they are all of it between two events, the gradient in flight apart: that is
  /// computed again, from the snapshot and after restart_gradient().
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
    const_cast<BasicWorker*>(this)->for_each_vector(
        [&]<class E>(std::string_view name, std::span<E> vector) {
          visit(name, std::span<const E>(vector));
        });
  }
  template <class Archive>
  void persist(Archive& archive) {
    archive(last_, gradients_, updates_since_snapshot_, staleness_);
    for (std::size_t k = 0; k < settings_->scalars; ++k) archive(scalars_[k]);
  }
  /// The gradient in flight will be computed anew.
  void restart_gradient();

  double last_event() const { return last_; }
  std::int64_t gradients() const { return gradients_; }
  /// Updates applied to x between the last committed gradient's snapshot and its commit.
  std::int64_t staleness() const { return staleness_; }

 private:
  std::size_t dimension() const { return settings_->dimension; }
  WorkerLayout<T> layout() const { return WorkerLayout<T>(*settings_); }
  const Rule<T>& rule() const { return settings_->rules.template of<T>(); }
  /// Empty when there is none.
  std::span<T> vector(T* values) const { return {values, values == nullptr ? 0 : dimension()}; }
  /// 0: the current buffers; 1: those of the gradient in flight.
  std::span<float> buffers_at(std::size_t which) const {
    return {reinterpret_cast<float*>(own_ + layout().buffers_at(which)), settings_->buffer_size};
  }
  const kernels::Table<T>& kernels() const { return settings_->backend->kernels<T>(); }
  void take_snapshot_notes();
  /// As its rule sees it in an event at t.
  WorkerView<T> at(double t) const;
  /// Likewise, and its clock moves to t.
  WorkerView<T> advance(double t);

  const WorkerSettings* settings_;
  T* x_;
  double last_ = 0;
  std::byte* own_;
  double* scalars_;
  std::int64_t gradients_ = 0;                // committed
  std::uint32_t updates_since_snapshot_ = 0;  // of x, by any event; counts gradients' staleness
  std::uint32_t staleness_ = 0;
};

using Worker = BasicWorker<float>;
extern template class BasicWorker<float>;
extern template class BasicWorker<double>;

}  // namespace acid
