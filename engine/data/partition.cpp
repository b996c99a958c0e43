#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/data/dataset.hpp"

namespace acid {
namespace {

using List = std::vector<std::int32_t>;

constexpr auto kDirichletFields = std::to_array<Field>({
    {"alpha", FieldType::number, "",
     "concentration: large is close to iid, small gives each worker few classes", 0, 1e6, true},
});

constexpr auto kCatalog = std::to_array<PartitionEntry>({
    {"shared", "every worker draws from all examples, in its own order", {}},
    {"iid", "a random equal share of the examples for each worker", {}},
    {"contiguous", "the examples in their order, cut into equal shares: parts of a text", {}},
    {"sorted", "examples sorted by class, then cut into equal shares", {}, true},
    {"dirichlet", "class shares of each worker from a Dirichlet distribution", kDirichletFields,
     true},
});

List all_examples(std::int64_t count) {
  List list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
}

// Fisher–Yates.
void shuffle(List& list, Stream& stream) {
  for (std::size_t left = list.size(); left > 1; --left)
    std::swap(list[left - 1], list[stream.below(left)]);
}

// Sizes differ by at most one, the larger ones first.
std::vector<std::size_t> equal_sizes(std::size_t total, std::size_t workers) {
  std::vector<std::size_t> sizes(workers, total / workers);
  for (std::size_t i = 0; i < total % workers; ++i) ++sizes[i];
  return sizes;
}

std::vector<List> cut(const List& list, std::size_t workers) {
  std::vector<List> lists;
  auto begin = list.begin();
  for (const std::size_t size : equal_sizes(list.size(), workers)) {
    lists.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(size));
    begin += static_cast<std::ptrdiff_t>(size);
  }
  return lists;
}

// Deals `cards` to the workers in proportion to `weights`, none beyond its `room`. What a full
// worker cannot take is dealt again among the others, whose weights are thereby renormalised. The
// rounded cumulative shares add up to what is left, so every pass deals at least one card.
void deal(const List& cards, std::vector<double> weights, std::vector<std::size_t>& room,
          std::vector<List>& hands) {
  auto next_card = cards.begin();
  while (next_card != cards.end()) {
    const auto left = static_cast<double>(cards.end() - next_card);
    double total = 0;
    for (std::size_t i = 0; i < room.size(); ++i) total += room[i] > 0 ? weights[i] : 0;
    if (total == 0) {  // Only workers whose share underflowed have room.
      for (std::size_t i = 0; i < room.size(); ++i) weights[i] = static_cast<double>(room[i]);
      continue;
    }
    double cumulative = 0;
    std::size_t due = 0;
    for (std::size_t i = 0; i < room.size(); ++i) {
      if (room[i] == 0) continue;
      cumulative += weights[i];
      const auto due_now = static_cast<std::size_t>(left * (cumulative / total) + 0.5);
      const std::size_t taken = std::min(due_now - due, room[i]);
      due = due_now;
      hands[i].insert(hands[i].end(), next_card, next_card + static_cast<std::ptrdiff_t>(taken));
      next_card += static_cast<std::ptrdiff_t>(taken);
      room[i] -= taken;
    }
  }
}

std::vector<List> deal_dirichlet(const Split& train, int classes, std::size_t workers, double alpha,
                                 Stream& stream) {
  std::vector<List> by_class(static_cast<std::size_t>(classes));
  for (const std::int32_t e : all_examples(train.size()))
    by_class[static_cast<std::size_t>(train.label(e))].push_back(e);
  // The classes dealt last find many workers full; a random order favours none of them.
  List order = all_examples(classes);
  shuffle(order, stream);

  std::vector<List> lists(workers);
  std::vector<std::size_t> room = equal_sizes(static_cast<std::size_t>(train.size()), workers);
  for (const std::int32_t label : order) {
    List& examples = by_class[static_cast<std::size_t>(label)];
    shuffle(examples, stream);
    std::vector<double> weights(workers);
    for (double& weight : weights) weight = stream.gamma(alpha);
    deal(examples, std::move(weights), room, lists);
  }
  return lists;
}

}  // namespace

std::span<const PartitionEntry> partition_catalog() { return kCatalog; }

Shards make_shards(const Split& train, int classes, int workers, const nlohmann::json& partition,
                   const Seeds& seeds) {
  ACID_ASSERT(workers >= 1, "{} workers", workers);
  const std::string kind = text(partition, "kind");
  if (kind == "shared") return {{all_examples(train.size())}};
  if (workers > train.size())
    throw UsageError(
        fmt::format("partition '{}' cannot share {} examples among {} workers: use "
                    "fewer workers, more examples or partition = \"shared\"",
                    kind, train.size(), workers));
  const auto count = static_cast<std::size_t>(workers);
  Stream stream(seeds.derived(Purpose::partition));
  List list = all_examples(train.size());
  if (kind == "contiguous") return {cut(list, count)};
  if (kind == "iid") {
    shuffle(list, stream);
    return {cut(list, count)};
  }
  if (kind == "sorted") {
    std::stable_sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
      return train.label(a) < train.label(b);
    });
    return {cut(list, count)};
  }
  ACID_ASSERT(kind == "dirichlet", "partition '{}'", kind);
  return {deal_dirichlet(train, classes, count, number(partition, "alpha"), stream)};
}

}  // namespace acid
