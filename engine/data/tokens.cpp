#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/data/mapped_array.hpp"
#include "engine/data/sequences.hpp"

namespace acid {
namespace {

constexpr double kMostVocabulary = 1 << 24;  // a model gets tokens as floats, exact up to here

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

int vocabulary_of(const nlohmann::json& options) {
  return static_cast<int>(integer(options, "vocabulary"));
}

MappedArray checked_tokens(const nlohmann::json& options) {
  const std::string file = text(options, "file");
  MappedArray array = std::filesystem::path(file).extension() == ".safetensors"
                          ? MappedArray::safetensors(file, text(options, "tensor"))
                          : MappedArray::npy(file);
  if (array.shape().size() != 1)
    array.fail(fmt::format("expected one row of tokens, found an array of {} dimensions",
                           array.shape().size()),
               "save array.reshape(-1), documents with a token between them");
  array.visit([&](auto tokens) { require_in_vocabulary(array, tokens, vocabulary_of(options)); });
  return array;
}

DataInfo inspect_tokens(const nlohmann::json& options) {
  const MappedArray array = checked_tokens(options);
  return inspect_sequences(
      options, text(options, "file"), std::make_shared<MappedTokens>(array), vocabulary_of(options),
      std::string(array.type_name()), [](std::span<const std::int64_t> tokens) {
        return fmt::format("{} …",
                           fmt::join(tokens.first(std::min<std::size_t>(8, tokens.size())), " "));
      });
}

Dataset load_tokens(const nlohmann::json& options) {
  const std::string file = text(options, "file");
  Dataset data =
      make_sequences(options, file, std::make_shared<MappedTokens>(checked_tokens(options)),
                     vocabulary_of(options));
  data.files = {{file, sha256_file(file)}};
  return data;
}

}  // namespace

DatasetEntry dataset_tokens() {
  return {"tokens", "one row of tokens from any tokenizer, for language models", kTokensFields,
          inspect_tokens, load_tokens};
}

}  // namespace acid
