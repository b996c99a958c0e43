#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "engine/language/program.hpp"
#include "engine/worker/rule.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// The memory of a pass's operands, for one worker in one event. Null: the event has none.
template <class T>
struct PassMemory {
  T* state[1 + kMostVectors];  // as many as the method has
  T* partner[1 + kMostVectors];
  T* gradient = nullptr;
  const T* at = nullptr;
  T* moment[2] = {};
  const Heard<T>* heard = nullptr;
  T* said = nullptr;
  T* point = nullptr;
  T* model = nullptr;  // elements [model_first, …) of it
  std::size_t model_first = 0;
  std::size_t dimension = 0;
  const kernels::Table<T>* kernels = nullptr;

  /// The operand's memory from element `first` on; null for a constant, a register, and operands
  /// that are taken.
  const T* source(const Operand& operand, std::size_t first) const;
  /// Whether the operand is computed from heard messages: take() computes it.
  bool is_taken(const Operand& operand) const;
  void take(const Operand& operand, std::size_t first, T* out, std::size_t size) const;
  /// The memory that a pass writes; null for operands that no pass writes, and registers.
  T* target(const Operand& operand, std::size_t first) const;
};

/// Calls function(decay, begin, end) for the ranges within [first, last).
template <class Function>
void for_each_range(std::span<const DecayRange> decay, std::size_t first, std::size_t last,
                    const Function& function) {
  for (const DecayRange& range : decay) {
    const std::size_t begin = std::max(first, range.begin), end = std::min(last, range.end);
    if (begin < end) function(range.decay, begin, end);
  }
}

/// The number of elements in a block of a reduction. A block is summed in eight lanes, by the
/// element's number mod 8; then the lanes are added in order; and the blocks' sums are added in
/// order. So neither threads nor processors change a bit.
inline constexpr std::size_t kReductionBlock = 1024;
inline constexpr std::size_t kReductionLanes = 8;
/// The sum of a block's lanes, which lie `stride` apart.
inline double sum_of_lanes(const double* lanes, std::size_t stride = 1) {
  double sum = 0;
  for (std::size_t lane = 0; lane < kReductionLanes; ++lane) sum += lanes[lane * stride];
  return sum;
}

/// Executes a pass on elements [first, last), which begin and end at blocks of a reduction if the
/// pass has one. This is the plain interpreter; all other ways of execution give the same bits.
/// `numbers`: of the part. `decay`: ranges, if the pass has decay. `sums`: by reduction, then
/// block, for the blocks of the range.
template <class T>
void interpret(const Pass& pass, const PassMemory<T>& memory, std::span<const double> numbers,
               std::span<const DecayRange> decay, std::size_t first, std::size_t last,
               std::span<std::vector<double>> sums);

double compute(Operation operation, double a, double b, double c);

extern template struct PassMemory<float>;
extern template struct PassMemory<double>;
extern template void interpret(const Pass&, const PassMemory<float>&, std::span<const double>,
                               std::span<const DecayRange>, std::size_t, std::size_t,
                               std::span<std::vector<double>>);
extern template void interpret(const Pass&, const PassMemory<double>&, std::span<const double>,
                               std::span<const DecayRange>, std::size_t, std::size_t,
                               std::span<std::vector<double>>);

}  // namespace acid
