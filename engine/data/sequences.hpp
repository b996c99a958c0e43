#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {

/// A long row of tokens. Immutable; any thread may read.
class Tokens {
 public:
  virtual ~Tokens() = default;
  virtual std::int64_t size() const = 0;
  /// Copies the tokens from `first` on.
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

/// The sizes of a data set of `count` tokens of `file`: sequence e has tokens eT to eT + T − 1 as
/// inputs, and those one further on as labels, so that each token but the first is the label of one
/// sequence. Test sequences come last in each of ten equal stretches of the file, or of as many
/// stretches as there are test sequences. Throws UsageError for less than one sequence each for
/// training and test.
DataInfo sizes_of_sequences(const nlohmann::json& options, const std::string& file,
                            std::int64_t count, int vocabulary);
/// The data set of these tokens, which are below `vocabulary`; the caller digests the file.
Dataset make_sequences(const nlohmann::json& options, const std::string& file,
                       std::shared_ptr<const Tokens> tokens, int vocabulary);
/// Plans the data set and surveys it. `type`: how a token is stored in the file; `quote`: the first
/// tokens in words.
DataInfo inspect_sequences(const nlohmann::json& options, const std::string& file,
                           const std::shared_ptr<const Tokens>& tokens, int vocabulary,
                           const std::string& type,
                           std::string (*quote)(std::span<const std::int64_t> tokens));

}  // namespace acid
