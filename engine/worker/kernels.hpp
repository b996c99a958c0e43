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

/// What the distance of vectors to their mean is added from. A part is added in kSpreadLanes lanes,
/// each in order; lanes k, k + 8, k + 16 and k + 24 are then added in pairs, and these in order.
constexpr std::size_t kSpreadPart = 1u << 16, kSpreadLanes = 32;
struct SpreadSums {
  double distance = 0, length = 0;
};

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

  // For memory that the host reaches slowly or not at all, and null for the host's own.

  /// √Σ x², in double, in an order of the device's: the last bits are not those of the host.
  double (*norm)(const T* x, std::size_t size) = nullptr;
  /// sums[p] ← what part p of `rows`, kSpreadPart elements or what is left, adds to Σᵢ ‖xᵢ − x̄‖²
  /// and ‖x̄‖². At least one row; the rows lie on the device, the list and the sums do not.
  void (*spread)(const T* const* rows, std::size_t count, std::size_t size,
                 SpreadSums* sums) = nullptr;
};

}  // namespace acid::kernels
