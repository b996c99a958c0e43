#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {

/// What one look at a split tells. Inputs are as a model gets them, of the examples looked at.
struct SplitFacts {
  std::string inputs = {}, labels = {};  // where they are, for messages
  std::string form = {};                 // "32 features (F32)"
  std::string unit = "examples";
  std::string first = {};  // of the first example: "label 3, from 0 to 1 with mean 0.4"
  std::int64_t size = 0;
  std::int64_t looked_at = 0;  // examples whose inputs were read; 0: they are no numbers
  std::int64_t features = 0, constant = 0;  // constant: those that never change
  double least = 0, most = 0;
  double magnitude = 0;         // mean of the absolute values
  bool whole = false;           // all are whole numbers
  std::int64_t not_finite = 0;  // examples with a number that is not finite
  std::int64_t repeats = 0;     // those whose inputs are those of an earlier one
  std::int64_t trained = 0;     // of tests: those whose inputs are those of a training example
  std::vector<std::int64_t> classes = {};  // how many examples each has; empty: there are none
  std::int64_t labelled = 0;               // how many labels were looked at
};

/// Adds what was read, a line for each split, and what about it is most likely a mistake: the same
/// for every kind of data.
void tell(DataInfo& info, const SplitFacts& train, const SplitFacts& test);

/// A split as a survey reads it.
struct Sample {
  std::string inputs, labels;  // as in SplitFacts
  std::string type;            // how numbers lie in the file: "U8, divided by 255"
  std::int64_t size = 0;
  std::function<int(std::int64_t example)> label = {};  // empty: there are no classes
  std::function<void(std::int64_t example, std::span<float> out)> copy = {};
  std::function<std::string(std::int64_t example)> quote = {};  // the first example in words
  bool trained = false;  // tests that are the training examples because the recipe says so
};
/// The type of images that are kept as bytes, and of those that have statistics of their own.
inline constexpr const char* kBytes = "U8, divided by 255";
inline constexpr const char* kNormalisedBytes = "U8, divided by 255, then normalised";
/// All of a split.
Sample sample_of(const Split& split, const DataShape& shape, std::string where, std::string type);

/// Numbers that a survey looks at, so that it takes moments however many there are.
inline constexpr std::int64_t kMostSurveyed = 1 << 25;
/// Examples 0, step, 2 · step, … of both splits are looked at, so that sets that are the same are
/// found to be; 0: one example is too large.
std::int64_t survey_step(std::int64_t train_size, std::int64_t test_size, std::int64_t features,
                         std::int64_t most = kMostSurveyed);
/// Looks at both and tells; info.shape says what they are.
void survey(DataInfo& info, const Sample& train, const Sample& test,
            std::int64_t most = kMostSurveyed);

}  // namespace acid
