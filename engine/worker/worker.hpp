#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/base/mixing.hpp"
#include "engine/worker/kernels.hpp"
#include "engine/worker/worker_memory.hpp"

namespace acid {

/// c = ½(1 − e^(−2ητ)) for τ = elapsed normalised time; asserts τ ≥ 0.
double mixing_coefficient(double eta, double elapsed);

/// The steps along m = own offer − partner's offer that make an exchange applied `late` (normalised
/// time after the offers) the same as one applied at once: with c as above, x moves by
/// α + c(α̃ − α) and x̃ by α̃ − c(α̃ − α).
struct ApplySteps {
  double x = 0;
  double x_tilde = 0;
};
ApplySteps apply_steps(const Mixing& mixing, double late);

/// One replica of the model: x, and for A²CiD² its momentum copy x̃, with the optimiser's state.
///
/// State changes only through the events below (docs/SEMANTICS.md), each a pure function of the
/// state and the event's arguments; this is what makes an asynchronous run replayable. Times are
/// normalised, and each event's t must not be before the last event's.
///
/// Not thread-safe: the driver serialises the events of a worker (the threads driver with the
/// worker's mutex). Between begin_gradient and commit_gradient the snapshot may be read without it.
/// It is small, a cache line, and what an exchange needs of it comes first: there may be a million.
template <class T>
class alignas(64) BasicWorker {
 public:
  /// Worker `index` of those that the memory was made for. Settings and memory outlive it.
  BasicWorker(const WorkerSettings& settings, WorkerMemory<T>& memory, std::size_t index = 0)
      : settings_(&settings), x_(memory.shared(index)), own_(memory.own(index)) {}
  /// Elements that x and x̃ of one worker take, where they are to lie in memory that is shared.
  static std::size_t shared_size(const WorkerSettings& settings) {
    return WorkerLayout<T>(settings).shared_size();
  }

  /// x ← x0, x̃ ← x0; before any event.
  void start(std::span<const T> x0, std::span<const float> buffers = {});

  /// Mixes to t; snapshot s ← x. Where settings keep no snapshots, nothing may change x until the
  /// gradient has been computed.
  void begin_gradient(double t);
  /// Mixes to t; the optimiser turns g into a step u; x −= γu, x̃ −= γu. With `begin_next` the next
  /// gradient begins at the same t in the same pass, as if begin_gradient(t) followed.
  void commit_gradient(double t, std::span<const T> g, double learning_rate,
                       bool begin_next = false);
  /// Mixes to t; out ← x. Both partners of an exchange offer at one t.
  void offer(double t, std::span<T> out);
  /// Mixes to t ≥ t_offer, then combines the two offers, so that the state is what it would be had
  /// this happened at t_offer: with m = own − partner, x and x̃ move by −m times apply_steps.
  void apply(double t, double t_offer, std::span<const T> own, std::span<const T> partner);
  /// x ← values, for synchronous methods (which have no x̃).
  void assign(double t, std::span<const T> values);
  /// Mixes to t_end; what remains is the result.
  void finish(double t_end);

  /// offer and apply of both partners at one t in a single pass; the same bits as the four events.
  static void exchange(BasicWorker& i, BasicWorker& j, double t);
  /// A worker's part in that, where the pass is made by somebody else, perhaps in another process:
  /// gives up its vectors, not yet mixed, until the pass is over.
  kernels::Mixed<T> lend(double t);
  /// The vectors of a worker with these settings that lie in memory shared with it and that lend()
  /// gave up with the coefficient c.
  static kernels::Mixed<T> lent(const WorkerSettings& settings, std::span<T> shared, T c);
  /// The pass.
  static void exchange(const WorkerSettings& settings, kernels::Mixed<T> i, kernels::Mixed<T> j);

  /// out ← elements [first, first + out.size()) of x as they would be when mixed to t; changes
  /// nothing (docs/SEMANTICS.md: measuring never does).
  void read_at(double t, std::size_t first, std::span<T> out) const;

  std::span<const T> x() const { return {x_, dimension()}; }
  /// Empty when the method keeps no momentum copy.
  std::span<const T> x_tilde() const { return {tilde(), tilde() == nullptr ? 0 : dimension()}; }
  /// Where the gradient in flight is computed: x() itself where none is kept. Empty in a run
  /// without gradients.
  std::span<const T> snapshot() const { return settings_->snapshots ? own(kSnapshot) : x(); }
  bool keeps_snapshots() const { return settings_->snapshots; }
  /// Where the gradient in flight may be computed: the worker itself does not look at it.
  std::span<T> gradient() { return own(kGradient); }
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
    visit("x", std::span<T>(x_, dimension()));
    visit("x_tilde", std::span<T>(tilde(), tilde() == nullptr ? 0 : dimension()));
    visit("snapshot", own(kSnapshot));
    visit("moment1", own(kMoment1));
    visit("moment2", own(kMoment2));
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
    archive(last_, gradients_, updates_, snapshot_updates_, staleness_);
  }
  /// The gradient in flight will be computed anew.
  void restart_gradient();

  double last_event() const { return last_; }
  std::int64_t gradients() const { return gradients_; }
  /// Updates applied to x between the last committed gradient's snapshot and its commit.
  std::int64_t staleness() const { return staleness_; }

 private:
  enum OwnVector : std::size_t { kSnapshot, kGradient, kMoment1, kMoment2 };

  std::size_t dimension() const { return settings_->dimension; }
  WorkerLayout<T> layout() const { return WorkerLayout<T>(*settings_); }
  /// Null when there is none.
  T* tilde() const { return settings_->mixing.has_momentum() ? x_ + layout().stride() : nullptr; }
  /// Empty when there is none.
  std::span<T> own(OwnVector which) const {
    const std::size_t index = which - (settings_->snapshots ? kSnapshot : kGradient);
    if (index >= layout().own_vectors()) return {};
    return {reinterpret_cast<T*>(own_) + index * layout().stride(), dimension()};
  }
  /// 0: the current buffers; 1: those of the gradient in flight.
  std::span<float> buffers_at(std::size_t which) const {
    return {reinterpret_cast<float*>(own_ + layout().buffers_at(which)), settings_->buffer_size};
  }
  const kernels::Table<T>& kernels() const { return settings_->backend->kernels<T>(); }
  void take_snapshot_notes();
  /// Moves the clock to t; the coefficient that mixes the elapsed time.
  T advance(double t);
  void mix(const kernels::Mixed<T>& mixed);
  void step(T c, std::span<const T> g, double learning_rate, T* snapshot);
  template <class Step>
  using StepKernel = void (*)(kernels::Mixed<T>, const Step&, T* snapshot, std::size_t size);
  template <class Step>
  void step_by(StepKernel<Step> kernel, Step by, T c, T* snapshot);

  const WorkerSettings* settings_;
  T* x_;
  double last_ = 0;
  std::int64_t updates_ = 0;  // of x, by any event
  std::byte* own_;
  std::int64_t gradients_ = 0;  // committed
  std::int64_t snapshot_updates_ = 0;
  std::int64_t staleness_ = 0;
};

using Worker = BasicWorker<float>;
extern template class BasicWorker<float>;
extern template class BasicWorker<double>;

}  // namespace acid
