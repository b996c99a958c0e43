#pragma once

#include <cstddef>

namespace acid::kernels {

// The arithmetic of the worker state machine, one pass over memory each. All vectors have `size`
// elements and do not overlap. T is float (the engine) or double (the tests' reference).
//
// Mixing: δ = c(x̃ − x); x += δ; x̃ −= δ, with c = ½(1 − e^(−2ητ)) (A²CiD², 2306.08289, in closed
// form). `x_tilde` null or c = 0: no mixing, and not a bit of x changes.

/// A worker's two vectors and the mixing coefficient that brings them to the event's time.
template <class T>
struct Mixed {
  T* x;
  T* x_tilde;  // null: the method has no momentum copy
  T c;
};

/// SGD: u = g + decay·x; m = momentum·m + u; step = nesterov ? u + momentum·m : m.
template <class T>
struct SgdStep {
  const T* g;
  T* m;  // null: no momentum, step = u
  T learning_rate, momentum, decay;
  bool nesterov;
};

/// Adam (Kingma & Ba 2015) and AdamW (Loshchilov & Hutter 2019). corrections: 1 − βᵏ at this step.
template <class T>
struct AdamStep {
  const T* g;
  T* m;
  T* v;
  T learning_rate, beta1, beta2, epsilon, decay;
  T correction1, correction2;
  bool decoupled;  // AdamW: decay acts on x, not on the gradient
};

/// A vector and its weight in a mean.
template <class T>
struct Weighted {
  const T* x;
  double weight;  // rounded to T once
};

// A mean is taken by differences: m₀ + Σ w·(mᵢ − m₀), in the order of the messages mᵢ, m₀ the own
// one. So messages that agree are not changed by a bit whatever the weights were rounded to, and
// where wᵢⱼ = wⱼᵢ, what j gives to i is to the bit what i gives to j: an exchange moves the mean of
// all by what single sums are rounded by, which has no direction. The own weight is by how much the
// weights of all exceed 1, times m₀ before the others where it is not 0: push-sum alone has that.

/// The kernels, for one kind of processor. Every table gives the same bits (of numbers; which of
/// two NaNs survives may differ): they differ in speed, and in where the vectors may lie. Each is
/// complete when it returns. Any thread may call them.
template <class T>
struct Table {
  /// out ← x.
  void (*copy)(const T* x, T* out, std::size_t size);
  void (*mix)(Mixed<T> w, std::size_t size);
  /// Mixes, then out ← x.
  void (*mix_and_copy)(Mixed<T> w, T* out, std::size_t size);
  /// out ← x as it would be after mixing; the worker's vectors stay as they are.
  void (*copy_mixed)(const T* x, const T* x_tilde, T c, T* out, std::size_t size);
  /// Mixes, then with m = own − partner: x −= a·m, x̃ −= a_tilde·m.
  void (*mix_and_apply)(Mixed<T> w, const T* own, const T* partner, T a, T a_tilde,
                        std::size_t size);
  /// Both workers mix, offer and apply at one time, in one pass: the same bits as mix_and_copy on
  /// both followed by mix_and_apply on both with c = 0. Both have an x̃ or neither.
  void (*exchange)(Mixed<T> i, Mixed<T> j, T a, T a_tilde, std::size_t size);
  /// Mixes, then x −= γ·step and x̃ −= γ·step; if `snapshot` is not null it receives the new x.
  void (*mix_and_sgd)(Mixed<T> w, const SgdStep<T>& s, T* snapshot, std::size_t size);
  void (*mix_and_adam)(Mixed<T> w, const AdamStep<T>& s, T* snapshot, std::size_t size);
  /// out += weight·x.
  void (*add_scaled)(const T* x, T weight, T* out, std::size_t size);
  /// out ← weight·x. `out` may be x.
  void (*scale)(const T* x, T weight, T* out, std::size_t size);
  /// out ← the mean of `count` > 0 messages, the own one first, from their element `first` on, as
  /// said above. `out` is none of them.
  void (*weighted_mean)(const Weighted<T>* vectors, std::size_t count, std::size_t first, T* out,
                        std::size_t size);
  /// out ← (Σ vᵢ) / count of `count` > 0 vectors from their element `first` on, in double and in
  /// their order, rounded once: vectors that agree stay as they are. `out` is none of them.
  void (*mean)(const T* const* vectors, std::size_t count, std::size_t first, T* out,
               std::size_t size);
  /// out (rows × columns) ← a (rows × inner) · b (inner × columns), row by row; each element is
  /// summed in ascending order. `out` is neither. Null for memory that the host does not reach.
  void (*multiply)(const T* a, const T* b, T* out, std::size_t rows, std::size_t inner,
                   std::size_t columns) = nullptr;
};

}  // namespace acid::kernels
