#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {

/// What a look at a split finds. Inputs are those that a model gets, of the examples looked at.
struct SplitFacts {
  std::string inputs = {}, labels = {};  // the files, for messages
  std::string form = {};                 // "32 features (F32)"
  std::string unit = "examples";
  std::string first = {};  // the first example: "label 3, from 0 to 1 with mean 0.4"
  std::int64_t size = 0;
  std::int64_t looked_at = 0;               // examples whose inputs were read; 0: not numbers
  std::int64_t features = 0, constant = 0;  // constant: features that never change
  double least = 0, most = 0;
  double magnitude = 0;         // mean of the absolute values
  bool whole = false;           // all are whole numbers
  std::int64_t not_finite = 0;  // examples with a number that is not finite
  std::int64_t repeats = 0;     // examples with the inputs of an earlier one
  std::int64_t trained = 0;     // of tests: examples with the inputs of a training example
  std::vector<std::int64_t> classes = {};  // how many examples each class has; empty: no classes
  std::int64_t labelled = 0;               // how many labels were looked at
};

/// Adds a line for each split to `info`, and probable mistakes in the data: the same for every kind
/// of data.
void tell(DataInfo& info, const SplitFacts& train, const SplitFacts& test);

/// A split as a survey reads it.
struct Sample {
  const Split& split;
  std::string type;    // how numbers are stored in the file: "U8, divided by 255"
  std::string inputs;  // as in SplitFacts
  std::string labels = inputs;
  std::string first = {};  // the first example in words; empty: its label and range
  bool trained = false;    // the recipe makes the training examples the tests
};
/// The type of images that are stored as bytes, also of those with statistics of their own.
inline constexpr const char* kBytes = "U8, divided by 255";
inline constexpr const char* kNormalisedBytes = "U8, divided by 255, then normalised";

/// The most numbers that a survey reads, so that it takes moments for any data set.
inline constexpr std::int64_t kMostSurveyed = 1 << 25;
/// Examples 0, step, 2 · step, … of both splits are looked at, so that equal sets are found; 0: one
/// example is too large.
std::int64_t survey_step(std::int64_t train_size, std::int64_t test_size, std::int64_t features,
                         std::int64_t most = kMostSurveyed);
/// Surveys both splits and calls tell(); info.shape is their shape.
void survey(DataInfo& info, const Sample& train, const Sample& test,
            std::int64_t most = kMostSurveyed);

}  // namespace acid
