// Every instruction set gives the same bits, and no kernel touches memory outside of its vectors.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/worker/backend.hpp"
#include "tests/catch.hpp"

using namespace acid;
using kernels::Table;
using kernels::Weighted;

namespace {

/// Vectors of one length at odd places in memory, with room around each that must stay untouched.
template <class T>
class Operands {
 public:
  static constexpr std::size_t kVectors = 8, kMargin = 16;

  Operands(std::size_t size, std::size_t shift)
      : step_(size + 2 * kMargin), first_(kMargin + shift), values_(kVectors * step_ + shift) {
    constexpr std::size_t kPeriod = 9973;
    Stream random(7);
    for (std::size_t k = 0; k < values_.size(); ++k)
      values_[k] = k < kPeriod ? special(random) : values_[k - kPeriod];
  }
  T* vector(std::size_t which) { return values_.data() + which * step_ + first_; }

  /// Compares bit for bit, except that any NaN equals any other.
  bool equals(const Operands& other) const {
    if (std::memcmp(values_.data(), other.values_.data(), values_.size() * sizeof(T)) == 0)
      return true;
    for (std::size_t k = 0; k < values_.size(); ++k) {
      if (std::isnan(values_[k]) && std::isnan(other.values_[k])) continue;
      if (std::memcmp(&values_[k], &other.values_[k], sizeof(T)) != 0) return false;
    }
    return true;
  }

 private:
  // Mostly numbers of very different size; one in eight is a NaN, infinite, denormal or a zero.
  static T special(Stream& random) {
    using Limits = std::numeric_limits<T>;
    const T number = static_cast<T>(random.normal() * std::pow(10, random.normal()));
    const T specials[] = {Limits::quiet_NaN(),
                          Limits::infinity(),
                          -Limits::infinity(),
                          Limits::denorm_min(),
                          -Limits::min() / 2,
                          T(-0.0),
                          T(0),
                          Limits::max()};
    return random.below(8) == 0 ? specials[random.below(8)] : number;
  }

  std::size_t step_, first_;
  std::vector<T> values_;
};

template <class T>
using Call = std::function<void(const Table<T>&, Operands<T>&, std::size_t)>;

/// Every kernel in every variant.
template <class T>
std::vector<Call<T>> all_calls() {
  std::vector<Call<T>> calls;
  calls.push_back([](auto& k, auto& v, std::size_t s) { k.copy(v.vector(0), v.vector(1), s); });
  calls.push_back(
      [](auto& k, auto& v, std::size_t s) { k.scale(v.vector(0), T(0.7), v.vector(1), s); });
  for (const double excess : {0.0, 0.3})
    calls.push_back([excess](auto& k, auto& v, std::size_t s) {
      const std::array<Weighted<T>, 3> list{
          {{v.vector(0), excess}, {v.vector(1), 0.2}, {v.vector(2), 0.1}}};
      const std::size_t first = s / 3;
      k.weighted_mean(list.data(), list.size(), first, v.vector(3), s - first);
    });
  calls.push_back([](auto& k, auto& v, std::size_t s) {
    const std::array<const T*, 3> list{v.vector(0), v.vector(1), v.vector(2)};
    k.mean(list.data(), list.size(), s / 3, v.vector(3), s - s / 3);
  });
  calls.push_back([](auto& k, auto& v, std::size_t s) {
    const std::size_t columns = s / 5, inner = s < 5 ? 0 : s / columns;
    k.multiply(v.vector(0), v.vector(1), v.vector(2), 5, inner / 5, columns);
  });
  return calls;
}

template <class T>
void check_same_bits(std::size_t size, std::size_t shift) {
  const std::vector<Call<T>> calls = all_calls<T>();
  const Operands<T> start(size, shift);
  for (std::size_t number = 0; number < calls.size(); ++number) {
    Operands<T> expected = start;
    calls[number](cpu_backend("baseline")->kernels<T>(), expected, size);
    for (const char* set : {"avx2", "avx512"}) {
      const Backend* const backend = cpu_backend(set);
      if (backend == nullptr) continue;  // not supported by this processor
      Operands<T> got = start;
      calls[number](backend->kernels<T>(), got, size);
      if (got.equals(expected)) continue;
      FAIL(set << ": call " << number << " of " << calls.size() << " on " << size << " elements, "
               << shift << " beyond alignment, " << sizeof(T) << " bytes each");
    }
  }
}

}  // namespace

TEST_CASE("kernels: every instruction set gives the same bits, at all sizes and alignments") {
  for (std::size_t size = 0; size <= 130; ++size) {
    check_same_bits<float>(size, size % 17);
    check_same_bits<double>(size, size % 9);
  }
  for (const char* set : {"avx2", "avx512"})
    if (cpu_backend(set) == nullptr) WARN(set << " is not this processor's: not compared");
}

TEST_CASE("backend: every processor has the baseline, and unknown sets are no backend") {
  REQUIRE(cpu_backend("baseline") != nullptr);
  CHECK(cpu_backend("baseline")->name() == "cpu/baseline");
  CHECK(cpu_backend("sse9") == nullptr);
  CHECK(cpu_backend("") == nullptr);
  CHECK(cpu_backend().name().substr(0, 4) == "cpu/");
}

TEST_CASE("backend: memory is zeroed and aligned, of every size") {
  for (const std::size_t bytes : {1u, 63u, 64u, 4097u, 1u << 20, (4u << 20) + 1}) {
    auto* const memory = static_cast<char*>(cpu_backend().allocate(bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % Backend::kAlignment == 0);
    CHECK(std::all_of(memory, memory + bytes, [](char value) { return value == 0; }));
    std::memset(memory, 1, bytes);
    cpu_backend().release(memory, bytes);
  }
}
