#include "engine/data/sequences.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

constexpr std::int64_t kTestBlocks = 10;

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

}  // namespace

DataInfo sizes_of_sequences(const nlohmann::json& options, const std::string& file,
                            std::int64_t count, int vocabulary) {
  const std::int64_t length = integer(options, "sequence");
  const std::int64_t sequences = (count - 1) / length;
  if (sequences < 2)
    throw UsageError(fmt::format(
        "{} has {} tokens, and a sequence of {} to train on, one to evaluate on and the token that "
        "follows take {}; use a longer file or a smaller task.dataset.sequence",
        file, count, length, 2 * length + 1));
  if (sequences > std::numeric_limits<std::int32_t>::max())
    throw UsageError(
        fmt::format("{} has {} sequences of {} tokens, more than acid can count; use longer ones",
                    file, sequences, length));
  const std::int64_t test = test_count(options, sequences);
  return {{1, 1, static_cast<int>(length), vocabulary, true}, sequences - test, test, {file}};
}

Dataset make_sequences(const nlohmann::json& options, const std::string& file,
                       std::shared_ptr<const Tokens> tokens, int vocabulary) {
  const DataInfo info = sizes_of_sequences(options, file, tokens->size(), vocabulary);
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
  data.train = std::make_shared<Sequences>(tokens, length, std::move(train));
  data.test = std::make_shared<Sequences>(std::move(tokens), length, std::move(test));
  return data;
}

DataInfo inspect_sequences(const nlohmann::json& options, const std::string& file,
                           const std::shared_ptr<const Tokens>& tokens, int vocabulary,
                           const std::string& type,
                           std::string (*quote)(std::span<const std::int64_t> tokens)) {
  constexpr std::int64_t kQuoted = 32;
  const Dataset data = make_sequences(options, file, tokens, vocabulary);
  DataInfo info = sizes_of_sequences(options, file, tokens->size(), vocabulary);
  const auto sample = [&](const Split& split) {
    std::vector<float> first(static_cast<std::size_t>(data.shape.width));
    split.copy_features(0, first);
    first.resize(std::min<std::size_t>(first.size(), kQuoted));
    return Sample{.split = split,
                  .type = type,
                  .inputs = file,
                  .first = quote(std::vector<std::int64_t>(first.begin(), first.end()))};
  };
  survey(info, sample(*data.train), sample(*data.test));
  return info;
}

}  // namespace acid
