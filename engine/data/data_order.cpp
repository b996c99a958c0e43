#include <algorithm>
#include <array>

#include "engine/base/error.hpp"
#include "engine/data/dataset.hpp"

namespace acid {

std::int64_t training_sample_size(std::int64_t train_size, std::int64_t test_size,
                                  std::int64_t labels) {
  constexpr std::int64_t kLeast = 1000, kMost = 10'000;
  const std::int64_t least = (kLeast + labels - 1) / labels;
  return std::min(train_size, std::clamp(test_size, least, kMost));
}

std::vector<std::int32_t> training_sample(std::int64_t train_size, std::int64_t test_size,
                                          const Seeds& seeds, std::int64_t labels) {
  const std::int64_t size = training_sample_size(train_size, test_size, labels);
  const Permutation order(seeds.derived(Purpose::training_sample),
                          static_cast<std::uint64_t>(train_size));
  std::vector<std::int32_t> sample;
  for (std::int64_t k = 0; k < size; ++k)
    sample.push_back(static_cast<std::int32_t>(order.at(static_cast<std::uint64_t>(k))));
  return sample;
}

DataOrder::DataOrder(const std::vector<std::int32_t>& shard, const Seeds& seeds, int worker)
    : shard_(&shard), key_(seeds.derived(Purpose::data_order, static_cast<std::uint32_t>(worker))) {
  ACID_ASSERT(!shard.empty(), "worker {} has no examples", worker);
}

std::int32_t DataOrder::at(std::int64_t position) const {
  std::int32_t example = 0;
  read(position, std::span(&example, 1));
  return example;
}

void DataOrder::read(std::int64_t position, std::span<std::int32_t> examples) const {
  ACID_ASSERT(position >= 0, "position {}", position);
  const auto size = static_cast<std::uint64_t>(shard_->size());
  constexpr std::size_t kChunk = 128;
  std::array<std::uint64_t, kChunk> places;
  for (auto p = static_cast<std::uint64_t>(position); !examples.empty();) {
    const std::uint64_t pass = p / size, first = p % size;
    const std::size_t count = std::min({kChunk, examples.size(), size - first});
    Permutation(Stream(key_, pass).next64(), size).range(first, std::span(places).first(count));
    for (std::size_t k = 0; k < count; ++k) examples[k] = (*shard_)[places[k]];
    examples = examples.subspan(count);
    p += count;
  }
}

}  // namespace acid
