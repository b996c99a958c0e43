#pragma once

#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/language/interpreter.hpp"

namespace acid::test {

/// Any pass that a listing could give, and many that none would: every code, every operand, up to
/// 24 registers. A pass with reductions has no decay.
Pass random_pass(Stream& random, std::size_t most_instructions);

/// A pass as parts of listings give it: a pass that reads the model has no reduction.
Pass random_device_pass(Stream& random);
std::size_t reductions_of(const Pass& pass);

/// The memory that random_pass() reads and writes, for one worker in one event. Its values include
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

/// The first difference; empty: there is none.
std::string difference(const RandomEvent& one, const RandomEvent& other);

/// Whether both have the same bits; any NaN equals any other.
bool is_same(double a, double b);

}  // namespace acid::test
