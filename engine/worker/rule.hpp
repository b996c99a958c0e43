#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "engine/worker/kernels.hpp"

namespace acid {

struct OptimizerSettings;
struct WorkerSettings;

/// A vector that every worker keeps beside x.
struct Slot {
  enum class Start { value, x };  // x: the start point
  std::string_view name;          // in checkpoints
  Start start = Start::value;
  double value = 0;     // of all its elements
  bool shared = false;  // meet() changes it: it lies where a partner's process can reach it
};

/// A number that every worker keeps.
struct ScalarSlot {
  std::string_view name;
  double start = 0;
};

/// One worker as a rule sees it, in one event. Vectors may lie in a GPU's memory: the functions at
/// the end of this page work on them wherever they are.
template <class T>
struct WorkerView {
  const WorkerSettings& settings;
  T* x;
  std::byte* own;  // null in meet() for a partner in another process, which shares x and slots only
  double* scalars;           // of ScalarSlots, in order, in the host's memory; null likewise
  double elapsed;            // normalised time since the worker's last event
  std::uint32_t number = 0;  // of the worker; 0 for such a partner

  /// The vector of slot `index` in Rule::slots().
  T* slot(std::size_t index) const;
  /// What works on its vectors, wherever they lie.
  const kernels::Table<T>& kernels() const;
  /// The optimiser's moments; null where it keeps none.
  T* moment(std::size_t which) const;
  /// The gradient in flight and where it was taken; null where none is kept.
  T* gradient() const;
  const T* snapshot() const;
};

/// A gradient's step.
struct StepSize {
  double learning_rate = 0;
  std::int64_t number = 0;     // of the gradient, of this worker, from 1
  std::int64_t staleness = 0;  // of it
};

/// What a worker hears: messages {x, weight}, of which x is as say() wrote it. They lie in memory
/// that the worker's kernels reach. A worker that hears them does not change them.
template <class T>
struct Heard {
  /// The worker's own message first, then the others' in ascending order, weighted as the mixing
  /// matrix says; the own weight is by how much all of them exceed 1 (kernels.hpp). Of a meeting:
  /// its own and its partner's. Empty where `mean` is there.
  std::span<const kernels::Weighted<T>> sources = {};
  const T* mean = nullptr;  // of the messages of all workers, where an all-reduce took it
  const T* own = nullptr;   // the worker's own message where `mean` is there
  std::span<const T* const> all = {};  // what `mean` is of, its own included, where it is gathered
  double late = 0;                     // meetings: normalised time since the messages were said
  /// A server's: the learning rate of the sender's last gradient, the number of this arrival, and
  /// how many it had heard since its last reply to the sender.
  const StepSize* arrival = nullptr;
};

/// What a worker says: so many vectors of the model's dimension, one after the other, then numbers,
/// each of which takes the place of two floats.
struct Message {
  std::size_t vectors = 1, scalars = 0;
  std::size_t floats(std::size_t dimension) const { return vectors * dimension + 2 * scalars; }
};

/// What one exchange carries of messages: elements [first, last) of some of their vectors, and some
/// of their numbers, in their order and without gaps.
struct Extent {
  /// All of the messages.
  Extent(const Message& message, std::size_t dimension)
      : vectors((1u << message.vectors) - 1),
        scalars((1u << message.scalars) - 1),
        last(dimension) {}

  std::uint32_t vectors, scalars;  // bit k: number k of the message is there
  std::size_t first = 0, last;

  std::size_t size() const { return last - first; }
  std::size_t floats() const { return scalars_at() + 2 * count(scalars, 32); }
  /// Where vector `index` and number `index` of the message begin, if they are there.
  std::size_t vector_at(std::size_t index) const { return count(vectors, index) * size(); }
  std::size_t scalar_at(std::size_t index) const {
    return scalars_at() + 2 * count(scalars, index);
  }

 private:
  static std::size_t count(std::uint32_t of, std::size_t before) {
    const std::uint64_t mask = (std::uint64_t{1} << before) - 1;
    return static_cast<std::size_t>(std::popcount(of & mask));
  }
  std::size_t scalars_at() const { return vector_at(32); }
};

/// What a method does to one worker. Every function first brings the worker to the time of the
/// event, where something happens between events.
///
/// Stateless, shared by all workers and threads. The thread that may change a worker calls it. T is
/// float in runs and double where tests want a reference.
template <class T>
class Rule {
 public:
  virtual ~Rule() = default;

  /// Those that are shared come first.
  virtual std::span<const Slot> slots() const { return {}; }
  virtual std::span<const ScalarSlot> scalars() const { return {}; }
  /// Which of them counts the floats that have come beside the worker's messages, of what did not
  /// fit a codec. The rule adds to it as an atomic, for others may look at it. None: all fits.
  virtual std::optional<std::size_t> extra_floats() const { return std::nullopt; }
  virtual Message message() const { return {}; }
  /// Of messages of a model of `dimension`, what exchange `number` carries, from 0: the same for
  /// all workers. Where nothing is said of it, all.
  virtual Extent extent(std::int64_t /*number*/, std::size_t dimension) const {
    return {message(), dimension};
  }
  /// Whether exchanges differ in that. Rounds only.
  virtual bool varies() const { return false; }
  /// Whether something happens between events, and advance() is not idle.
  virtual bool drifts() const { return false; }
  /// False for a rule that has a point() of its own: gradients are taken elsewhere than at x, and
  /// every worker keeps a copy of where.
  virtual bool point_is_x() const { return true; }
  /// Whether say() changes more than the time: then a worker says a message once, and no checkpoint
  /// is between that and what it hears.
  virtual bool changes_when_saying() const { return false; }
  /// Whether hear() changes the gradient in flight, as in rounds where what is heard is stepped by.
  virtual bool changes_gradient() const { return false; }
  /// Whether step() goes along the direction that the recipe's optimiser makes of the gradient.
  /// False: its step is its own; of that optimiser it gets weight decay and, if there is any,
  /// momentum (direction.hpp).
  virtual bool steps_by_optimizer() const { return true; }
  /// Whether meet() needs of a partner no more than x and the shared slots.
  virtual bool meets_in_place() const { return true; }

  /// Brings the worker to the event's time.
  virtual void advance(const WorkerView<T>& worker) const = 0;
  /// out ← where the next gradient is to be taken.
  virtual void point(const WorkerView<T>& worker, T* out) const = 0;
  /// A gradient's step. `next_point` ← where the next one is to be taken; it is null in rounds.
  virtual void step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
                    T* next_point) const = 0;
  /// out ← the extent of message() of it. Changes nothing but by advancing, unless
  /// changes_when_saying(): a checkpoint may follow, after which it is said again.
  virtual void say(const WorkerView<T>& worker, T* out) const = 0;
  virtual void hear(const WorkerView<T>& worker, const Heard<T>& heard) const = 0;
  /// Both say and both hear at once, in one pass.
  virtual void meet(const WorkerView<T>& i, const WorkerView<T>& j) const = 0;
  /// out, in host memory, ← elements [first, first + size) of the model that is evaluated.
  /// `pending` is a meeting that has been offered and not applied, and is to be heard; null where
  /// there is none, and in rounds. Changes nothing.
  virtual void read(const WorkerView<T>& worker, const Heard<T>* pending, std::size_t first, T* out,
                    std::size_t size) const = 0;
};

/// A method's rule, for both types.
struct Rules {
  std::shared_ptr<const Rule<float>> floats;
  std::shared_ptr<const Rule<double>> doubles;
  template <class T>
  const Rule<T>& of() const {
    if constexpr (std::is_same_v<T, float>)
      return *floats;
    else
      return *doubles;
  }
};
template <template <class> class R, class... Arguments>
Rules rules(const Arguments&... arguments) {
  return {std::make_shared<const R<float>>(arguments...),
          std::make_shared<const R<double>>(arguments...)};
}

// What rules are made of.

/// Both say, and both hear at once, by way of messages: for rules that do not meet in place.
template <class T>
void meet_by_messages(const Rule<T>& rule, const WorkerView<T>& i, const WorkerView<T>& j);
/// Number `index` of a message that is being said, and the mean of those that are heard, as that of
/// vectors. An all-reduce does not carry numbers.
template <class T>
void say_number(const Extent& extent, std::size_t index, double value, T* out);
template <class T>
double heard_number(const Extent& extent, const Heard<T>& heard, std::size_t index);

}  // namespace acid
