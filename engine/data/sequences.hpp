#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {

/// A long row of tokens that somebody keeps. Immutable; any thread may read.
class Tokens {
 public:
  virtual ~Tokens() = default;
  virtual std::int64_t size() const = 0;
  /// Those from `first` on.
  virtual void copy(std::int64_t first, std::span<std::int64_t> out) const = 0;
};

/// The keys "sequence" and "test" of every data set of tokens.
inline constexpr Field kSequenceField = {.name = "sequence",
                                         .type = FieldType::integer,
                                         .fallback = "128",
                                         .help = "tokens that a model sees at once",
                                         .minimum = 1,
                                         .maximum = 65536};
inline constexpr Field kTestShareField = {
    .name = "test",
    .type = FieldType::number,
    .fallback = "0.1",
    .help = "share of the sequences for evaluation: ten blocks, evenly spread over the file",
    .minimum = 0,
    .maximum = 0.5,
    .minimum_excluded = true};

/// What `count` tokens of `file` amount to: sequence e has tokens eT to eT + T − 1 for inputs, and
/// one further on for labels, so that each token but the first is the label of one sequence. Those
/// for the test come last in each of ten equal stretches of the file, or of as many as there are.
/// Throws UsageError for less than a sequence for training and one for the test.
DataInfo sizes_of_sequences(const nlohmann::json& options, const std::string& file,
                            std::int64_t count, int vocabulary);
/// The data set of these, whose tokens are below `vocabulary`; its file is the caller's to digest.
Dataset make_sequences(const nlohmann::json& options, const std::string& file,
                       std::shared_ptr<const Tokens> tokens, int vocabulary);
/// What can be said of it. `type`: how a token lies in the file; `quote`: the first ones in words.
DataInfo inspect_sequences(const nlohmann::json& options, const std::string& file,
                           const std::shared_ptr<const Tokens>& tokens, int vocabulary,
                           const std::string& type,
                           std::string (*quote)(std::span<const std::int64_t> tokens));

}  // namespace acid
