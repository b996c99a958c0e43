#include "engine/language/interpreter.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/worker/elements.hpp"

namespace acid {
namespace {

using Kind = Operand::Kind;

constexpr std::size_t kChunk = 256;  // elements that an instruction works on at a time

// Calls use(f) with the function f(a, b, c) of an operation that is_of_elements(); of others it is
// a itself.
template <class T, class Use>
void with_function(Operation operation, const Use& use) {
  switch (operation) {
#define SIGN(operation, spelling, more, value, text)                                  \
  case Operation::operation:                                                          \
    return use([]([[maybe_unused]] T a, [[maybe_unused]] T b, [[maybe_unused]] T c) { \
      return T(value);                                                                \
    });
#define FUNCTION(operation, ...) SIGN(operation, __VA_ARGS__)
#include "engine/language/operations.inc"
    default:
      return use([](T a, T, T) { return a; });
  }
}

template <class T>
class Interpretation {
 public:
  Interpretation(const Pass& pass, const PassMemory<T>& memory, std::span<const double> numbers,
                 std::span<std::vector<double>> sums)
      : pass_(pass), memory_(memory), numbers_(numbers), sums_(sums), lanes_(sums.size()) {
    registers_.resize(pass.registers * kChunk);
    const auto prepare = [&](const Operand& operand) {
      if (operand.kind == Kind::constant) add(constants_, operand.index);
      if (memory.is_taken(operand)) add(taken_, operand);
    };
    for (const Instruction& one : pass.instructions)
      for (const Operand& operand : {one.a, one.b, one.c}) prepare(operand);
    for (const Pass::Store& store : pass.stores) prepare(store.from);
    buffers_.resize((constants_.size() + taken_.size()) * kChunk);
    for (std::size_t k = 0; k < constants_.size(); ++k)
      fill_constant(k, static_cast<T>(numbers_[constants_[k]]));
  }

  void set_decay(double decay) {
    const auto found =
        std::ranges::find(constants_, static_cast<std::uint16_t>(HiddenNumber::decay));
    if (found != constants_.end())
      fill_constant(static_cast<std::size_t>(found - constants_.begin()), static_cast<T>(decay));
  }

  // Runs the pass on one chunk, or less.
  void run(std::size_t first, std::size_t size) {
    first_ = first;
    for (std::size_t k = 0; k < taken_.size(); ++k)
      memory_.take(taken_[k], first_, buffers_.data() + (constants_.size() + k) * kChunk, size);
    for (const Instruction& one : pass_.instructions) execute(one, size);
    for (const Pass::Store& store : pass_.stores) {
      const T* const from = source(store.from);
      std::copy(from, from + size, memory_.target(store.to, first_));
    }
    if (!sums_.empty() &&
        ((first + size) % kReductionBlock == 0 || first + size == memory_.dimension))
      end_block(first / kReductionBlock);
  }

 private:
  template <class Item>
  static void add(std::vector<Item>& list, const Item& item) {
    if (std::ranges::find(list, item) == list.end()) list.push_back(item);
  }
  void fill_constant(std::size_t at, T value) {
    std::fill_n(buffers_.begin() + static_cast<std::ptrdiff_t>(at * kChunk), kChunk, value);
  }
  template <class Item>
  const T* buffer(const std::vector<Item>& list, const Item& item, std::size_t before) const {
    const auto at = static_cast<std::size_t>(std::ranges::find(list, item) - list.begin());
    return buffers_.data() + (before + at) * kChunk;
  }

  const T* source(const Operand& operand) const {
    if (operand.kind == Kind::constant) return buffer(constants_, operand.index, 0);
    if (operand.kind == Kind::register_) return registers_.data() + operand.index * kChunk;
    const T* const from = memory_.source(operand, first_);
    return from != nullptr ? from : buffer(taken_, operand, constants_.size());
  }

  void execute(const Instruction& one, std::size_t size) {
    const T* const a = source(one.a);
    if (is_reduction(one.code)) return reduce(one, a, size);
    T* const to = registers_.data() + one.to * kChunk;
    const T *const b = source(one.b), *const c = source(one.c);
    with_function<T>(one.code, [&](const auto& function) {
      for (std::size_t i = 0; i < size; ++i) to[i] = function(a[i], b[i], c[i]);
    });
  }

  void reduce(const Instruction& one, const T* a, std::size_t size) {
    auto& lanes = lanes_[one.to];
    const T* const b = one.code == Operation::dot ? source(one.b) : a;
    for (std::size_t i = 0; i < size; ++i) {
      double& lane = lanes[(first_ + i) % kReductionLanes];
      if (one.code == Operation::sum)
        lane += static_cast<double>(a[i]);
      else
        lane += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
  }

  void end_block(std::size_t block) {
    for (std::size_t k = 0; k < lanes_.size(); ++k) {
      sums_[k][block] = sum_of_lanes(lanes_[k].data());
      lanes_[k].fill(0);
    }
  }

  const Pass& pass_;
  const PassMemory<T>& memory_;
  const std::span<const double> numbers_;
  const std::span<std::vector<double>> sums_;
  std::vector<std::array<double, kReductionLanes>> lanes_;
  std::vector<std::uint16_t> constants_;  // numbers with a buffer
  std::vector<Operand> taken_;            // heard operands with a buffer
  std::vector<T> registers_, buffers_;
  std::size_t first_ = 0;
};

}  // namespace

template <class T>
const T* PassMemory<T>::source(const Operand& operand, std::size_t first) const {
  const auto message = [&](const T* whole) { return whole + operand.index * dimension + first; };
  switch (operand.kind) {
    case Kind::at:
      return at + first;
    case Kind::mean:
      return heard->mean != nullptr ? message(heard->mean) : nullptr;
    case Kind::mine:
      return message(heard->mean != nullptr ? heard->own : heard->sources[0].x);
    case Kind::theirs:
      return message(heard->sources[1].x);
    default:
      return target(operand, first);
  }
}

template <class T>
bool PassMemory<T>::is_taken(const Operand& operand) const {
  return is_of_all_heard(operand) && (operand.kind != Kind::mean || heard->mean == nullptr);
}

template <class T>
void PassMemory<T>::take(const Operand& operand, std::size_t first, T* out,
                         std::size_t size) const {
  const std::size_t begin = operand.index * dimension + first;
  const auto& sources = heard->sources;
  if (operand.kind == Kind::mean)
    return kernels->weighted_mean(sources.data(), sources.size(), begin, out, size);
  if (heard->mean != nullptr) {
    for (std::size_t k = 0; k < size; ++k)
      out[k] = operand.kind == Kind::rest ? T(0) : heard->mean[begin + k] - heard->own[begin + k];
    return;
  }
  const T* const own = sources[0].x + begin;
  const auto excess = static_cast<T>(sources[0].weight);
  for (std::size_t k = 0; k < size; ++k) {
    T sum = excess == 0 ? T(0) : excess * own[k], rest = 0;
    for (std::size_t i = 1; i < sources.size(); ++i) {
      const T one =
          kernels::pull_element(own[k], sources[i].x[begin + k], static_cast<T>(sources[i].weight));
      if (i == 1 && excess == 0)
        sum = one;
      else
        kernels::add_with_rest(one, sum, rest);
    }
    out[k] = operand.kind == Kind::pull ? sum : rest;
  }
}

template <class T>
T* PassMemory<T>::target(const Operand& operand, std::size_t first) const {
  switch (operand.kind) {
    case Kind::state:
      return state[operand.index] + first;
    case Kind::partner:
      return partner[operand.index] + first;
    case Kind::gradient:
      return gradient + first;
    case Kind::moment:
      return moment[operand.index] + first;
    case Kind::said:
      return said + operand.index * dimension + first;
    case Kind::point:
      return point + first;
    case Kind::model:
      return model + (first - model_first);
    default:
      return nullptr;
  }
}

template <class T>
void interpret(const Pass& pass, const PassMemory<T>& memory, std::span<const double> numbers,
               std::span<const DecayRange> decay, std::size_t first, std::size_t last,
               std::span<std::vector<double>> sums) {
  Interpretation<T> run(pass, memory, numbers, sums);
  const auto run_range = [&](std::size_t begin, std::size_t end) {
    while (begin < end) {
      const std::size_t size = std::min(end, (begin / kChunk + 1) * kChunk) - begin;
      run.run(begin, size);
      begin += size;
    }
  };
  if (!pass.has_decay) return run_range(first, last);
  for_each_range(decay, first, last, [&](double value, std::size_t begin, std::size_t end) {
    run.set_decay(value);
    run_range(begin, end);
  });
}

double compute(Operation operation, double a, double b, double c) {
  if (is_of_elements(operation)) {
    double value = 0;
    with_function<double>(operation, [&](const auto& function) { value = function(a, b, c); });
    return value;
  }
  switch (operation) {
#define SCALAR(operation, name, arguments, value) \
  case Operation::operation:                      \
    return value;
#include "engine/language/operations.inc"
    default:
      break;
  }
  ACID_ASSERT(false, "operation {} is not of numbers", static_cast<int>(operation));
  return 0;
}

template struct PassMemory<float>;
template struct PassMemory<double>;
template void interpret(const Pass&, const PassMemory<float>&, std::span<const double>,
                        std::span<const DecayRange>, std::size_t, std::size_t,
                        std::span<std::vector<double>>);
template void interpret(const Pass&, const PassMemory<double>&, std::span<const double>,
                        std::span<const DecayRange>, std::size_t, std::size_t,
                        std::span<std::vector<double>>);

}  // namespace acid
