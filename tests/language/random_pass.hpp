#pragma once

#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/language/interpreter.hpp"

namespace acid::test {

/// Any pass that a listing could give, and many that none would: every code, every operand, up to
/// 24 registers. One with reductions has no decay.
Pass random_pass(Stream& random, std::size_t most_instructions);

/// One as parts of listings give them: what is read of a model has no reduction.
Pass random_device_pass(Stream& random);
std::size_t reductions_of(const Pass& pass);

/// Everything that random_pass() reads and writes, of one worker in one event. Among the values are
/// zeros of both signs, subnormal numbers, infinities and NaN.
class RandomEvent {
 public:
  RandomEvent(Stream& random, std::size_t dimension, bool mean_is_given);
  /// A copy that shares nothing.
  RandomEvent(const RandomEvent& other);

  PassMemory<float> memory;
  std::vector<double> numbers;
  std::vector<DecayRange> decay;  // covers the vectors
  std::vector<std::vector<double>> sums;

  const std::vector<std::vector<float>>& vectors() const { return vectors_; }

 private:
  void point_at_vectors();

  std::vector<std::vector<float>> vectors_;
  std::vector<kernels::Weighted<float>> sources_;
  Heard<float> heard_;
  bool mean_is_given_;
};

/// What differs first; empty: nothing does.
std::string difference(const RandomEvent& one, const RandomEvent& other);

/// Whether both are the same bits; one NaN is as good as another.
bool is_same(double a, double b);

}  // namespace acid::test
