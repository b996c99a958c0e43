// Data sets of tokens: texts, byte by byte, and rows of tokens from any tokenizer.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/byte_file.hpp"
#include "engine/data/mapped_array.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

constexpr std::int64_t kTestBlocks = 10;
constexpr int kByteValues = 256;
constexpr double kMostVocabulary = 1 << 24;  // a model gets tokens as floats, exact up to here

constexpr Field kSequenceField = {.name = "sequence",
                                  .type = FieldType::integer,
                                  .fallback = "128",
                                  .help = "tokens that a model sees at once",
                                  .minimum = 1,
                                  .maximum = 65536};
constexpr Field kTestShareField = {
    .name = "test",
    .type = FieldType::number,
    .fallback = "0.1",
    .help = "share of the sequences for evaluation: ten blocks, evenly spread over the file",
    .minimum = 0,
    .maximum = 0.5,
    .minimum_excluded = true};

constexpr auto kTextFields = std::to_array<Field>({
    {.name = "file", .type = FieldType::file, .fallback = "", .help = "the text, plain or .gz"},
    kSequenceField,
    kTestShareField,
});

constexpr auto kTokensFields = std::to_array<Field>({
    {.name = "file",
     .type = FieldType::file,
     .fallback = "",
     .help = "whole numbers in one row, the tokens of any tokenizer: .npy or .safetensors"},
    {.name = "tensor",
     .type = FieldType::text,
     .fallback = "\"tokens\"",
     .help = "its name in a .safetensors file"},
    {.name = "vocabulary",
     .type = FieldType::integer,
     .fallback = "",
     .help = "number of different tokens, which count from 0",
     .minimum = 2,
     .maximum = kMostVocabulary},
    kSequenceField,
    kTestShareField,
});

/// A long row of tokens. Immutable; any thread may read.
class Tokens {
 public:
  virtual ~Tokens() = default;
  virtual std::int64_t size() const = 0;
  /// Copies the tokens from `first` on.
  virtual void copy(std::int64_t first, std::span<std::int64_t> out) const = 0;
};

class Bytes final : public Tokens {
 public:
  explicit Bytes(std::string content) : content_(std::move(content)) {}
  std::int64_t size() const override { return std::ssize(content_); }
  void copy(std::int64_t first, std::span<std::int64_t> out) const override {
    std::transform(content_.begin() + first, content_.begin() + first + std::ssize(out),
                   out.begin(), [](char byte) { return static_cast<unsigned char>(byte); });
  }

 private:
  std::string content_;
};

class MappedTokens final : public Tokens {
 public:
  explicit MappedTokens(MappedArray array) : array_(std::move(array)) {}
  std::int64_t size() const override { return array_.size(); }
  void copy(std::int64_t first, std::span<std::int64_t> out) const override {
    array_.visit([&](auto tokens) {
      const auto some = tokens.subspan(static_cast<std::size_t>(first), out.size());
      std::ranges::transform(some, out.begin(),
                             [](auto token) { return static_cast<std::int64_t>(token); });
    });
  }

 private:
  MappedArray array_;
};

/// The tokens of a data set's file.
struct TokenFile {
  std::string path;
  std::shared_ptr<const Tokens> tokens;  // below `vocabulary`
  int vocabulary;
  std::string type;                                            // of a token in the file
  std::string (*quote)(std::span<const std::int64_t> tokens);  // the first ones in words
};

/// Sequence e has tokens eT to eT + T − 1 as inputs, and those one further on as labels, so that
/// each token but the first is the label of one sequence.
class Sequences final : public Split {
 public:
  Sequences(std::shared_ptr<const Tokens> tokens, std::int64_t length,
            std::vector<std::int32_t> numbers)
      : tokens_(std::move(tokens)), length_(length), numbers_(std::move(numbers)) {}

  std::int64_t size() const override { return std::ssize(numbers_); }
  int label(std::int64_t /*example*/) const override { return 0; }
  void copy_features(std::int64_t example, std::span<float> out) const override {
    thread_local std::vector<std::int64_t> tokens;
    tokens.resize(out.size());
    tokens_->copy(begin_of(example), tokens);
    std::ranges::transform(tokens, out.begin(),
                           [](auto token) { return static_cast<float>(token); });
  }
  void copy_labels(std::int64_t example, std::span<std::int64_t> out) const override {
    tokens_->copy(begin_of(example) + 1, out);
  }

 private:
  std::int64_t begin_of(std::int64_t example) const {
    return numbers_[static_cast<std::size_t>(example)] * length_;
  }

  std::shared_ptr<const Tokens> tokens_;
  std::int64_t length_;
  std::vector<std::int32_t> numbers_;
};

std::int64_t test_count(const nlohmann::json& options, std::int64_t sequences) {
  const double share = number(options, "test") * static_cast<double>(sequences);
  return std::max<std::int64_t>(static_cast<std::int64_t>(share), 1);
}

DataInfo sizes_of_sequences(const nlohmann::json& options, const TokenFile& file) {
  const std::int64_t length = integer(options, "sequence"), count = file.tokens->size();
  const std::int64_t sequences = (count - 1) / length;
  if (sequences < 2)
    throw UsageError(fmt::format(
        "{} has {} tokens, and a sequence of {} to train on, one to evaluate on and the token that "
        "follows take {}; use a longer file or a smaller task.dataset.sequence",
        file.path, count, length, 2 * length + 1));
  if (sequences > std::numeric_limits<std::int32_t>::max())
    throw UsageError(
        fmt::format("{} has {} sequences of {} tokens, more than acid can count; use longer ones",
                    file.path, sequences, length));
  const std::int64_t test = test_count(options, sequences);
  return {
      {1, 1, static_cast<int>(length), file.vocabulary, true}, sequences - test, test, {file.path}};
}

// Test sequences come last in each of ten equal stretches of the file, or of as many stretches as
// there are test sequences.
Dataset make_sequences(const DataInfo& info, const TokenFile& file) {
  const std::int64_t all = info.train_size + info.test_size;
  const std::int64_t blocks = std::min(kTestBlocks, info.test_size);
  std::vector<std::int32_t> train, test;
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t begin = block * all / blocks, end = (block + 1) * all / blocks;
    const std::int64_t held =
        (block + 1) * info.test_size / blocks - block * info.test_size / blocks;
    for (std::int64_t e = begin; e < end; ++e)
      (e < end - held ? train : test).push_back(static_cast<std::int32_t>(e));
  }
  const std::int64_t length = info.shape.width;
  Dataset data;
  data.shape = info.shape;
  data.train = std::make_shared<Sequences>(file.tokens, length, std::move(train));
  data.test = std::make_shared<Sequences>(file.tokens, length, std::move(test));
  return data;
}

// A compressed file is read as the text that it contains.
TokenFile text_of(const nlohmann::json& options) {
  const std::string file = text(options, "file");
  if (type_of_file(file) != std::filesystem::file_type::regular)
    throw UsageError(fmt::format("{} is no file; task.dataset.file names a text", file));
  // Writes bytes other than ASCII letters as \xNN, so that the line is text for any file.
  const auto quote = [](std::span<const std::int64_t> bytes) {
    std::string text = "\"";
    for (const std::int64_t byte : bytes)
      text += byte == '\n'                 ? "\\n"
              : byte >= ' ' && byte <= '~' ? std::string(1, static_cast<char>(byte))
                                           : fmt::format("\\x{:02x}", byte);
    return text + "\"";
  };
  return {file, std::make_shared<Bytes>(ByteFile(file, "unpack it").read_rest()), kByteValues,
          "bytes", quote};
}

template <class Number>
void require_in_vocabulary(const MappedArray& array, std::span<const Number> tokens,
                           int vocabulary) {
  if constexpr (is_real_v<Number>) {
    array.fail(
        fmt::format("expected whole numbers for tokens, found {}", tensor_type_name(array.type())),
        "save them with array.astype(numpy.uint16), or uint32");
  } else {
    const auto beyond = std::ranges::find_if(tokens, [&](Number token) {
      return std::cmp_less(token, 0) || std::cmp_greater_equal(token, vocabulary);
    });
    if (beyond != tokens.end())
      array.fail(fmt::format("token {} is {}, and the vocabulary has those from 0 to {}",
                             beyond - tokens.begin(), *beyond, vocabulary - 1),
                 "correct task.dataset.vocabulary, or the file");
  }
}

TokenFile tokens_of(const nlohmann::json& options) {
  const std::string file = text(options, "file");
  const auto vocabulary = static_cast<int>(integer(options, "vocabulary"));
  const MappedArray array = std::filesystem::path(file).extension() == ".safetensors"
                                ? MappedArray::safetensors(file, text(options, "tensor"))
                                : MappedArray::npy(file);
  if (array.shape().size() != 1)
    array.fail(fmt::format("expected one row of tokens, found an array of {} dimensions",
                           array.shape().size()),
               "save array.reshape(-1), documents with a token between them");
  array.visit([&](auto tokens) { require_in_vocabulary(array, tokens, vocabulary); });
  const auto quote = [](std::span<const std::int64_t> tokens) {
    return fmt::format("{} …",
                       fmt::join(tokens.first(std::min<std::size_t>(8, tokens.size())), " "));
  };
  return {file, std::make_shared<MappedTokens>(array), vocabulary, std::string(array.type_name()),
          quote};
}

template <TokenFile (*file_of)(const nlohmann::json& options)>
DataInfo inspect_sequences(const nlohmann::json& options) {
  constexpr std::size_t kQuoted = 32;
  const TokenFile file = file_of(options);
  DataInfo info = sizes_of_sequences(options, file);
  const Dataset data = make_sequences(info, file);
  const auto sample = [&](const Split& split) {
    std::vector<float> first(static_cast<std::size_t>(data.shape.width));
    split.copy_features(0, first);
    first.resize(std::min(first.size(), kQuoted));
    return Sample{.split = split,
                  .type = file.type,
                  .inputs = file.path,
                  .first = file.quote(std::vector<std::int64_t>(first.begin(), first.end()))};
  };
  survey(info, sample(*data.train), sample(*data.test));
  return info;
}

template <TokenFile (*file_of)(const nlohmann::json& options)>
Dataset load_sequences(const nlohmann::json& options) {
  const TokenFile file = file_of(options);
  Dataset data = make_sequences(sizes_of_sequences(options, file), file);
  data.files = {{file.path, sha256_file(file.path)}};
  return data;
}

}  // namespace

DatasetEntry dataset_text() {
  return {"text", "any text, byte by byte, for language models: a vocabulary of 256", kTextFields,
          inspect_sequences<text_of>, load_sequences<text_of>};
}

DatasetEntry dataset_tokens() {
  return {"tokens", "one row of tokens from any tokenizer, for language models", kTokensFields,
          inspect_sequences<tokens_of>, load_sequences<tokens_of>};
}

}  // namespace acid
