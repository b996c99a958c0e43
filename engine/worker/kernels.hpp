#pragma once

#include <cstddef>

namespace acid::kernels {

// Arithmetic on whole vectors, one pass over memory each. All vectors have `size` elements and do
// not overlap. T is float (the engine) or double (the tests' reference). What methods do to workers
// is compiled from their listings (engine/language).

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
