#include "engine/base/error.hpp"
#include "engine/data/dataset.hpp"

namespace acid {

DataOrder::DataOrder(const std::vector<std::int32_t>& shard, const Seeds& seeds, int worker)
    : shard_(&shard), key_(seeds.derived(Purpose::data_order, static_cast<std::uint32_t>(worker))) {
  ACID_ASSERT(!shard.empty(), "worker {} has no examples", worker);
}

std::int32_t DataOrder::at(std::int64_t position) const {
  ACID_ASSERT(position >= 0, "position {}", position);
  const auto size = static_cast<std::uint64_t>(shard_->size());
  const auto p = static_cast<std::uint64_t>(position);
  const Permutation order(Stream(key_, p / size).next64(), size);
  return (*shard_)[order.at(p % size)];
}

}  // namespace acid
