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

constexpr auto kClassesFields = std::to_array<Field>({
    {"classes_per_worker", FieldType::integer, "", "classes that each worker has", 1, 1e6},
});
constexpr auto kQuantityFields = std::to_array<Field>({
    {"alpha", FieldType::number, "",
     "concentration: large gives workers equal sizes, small gives few workers most examples", 0,
     1e6, true},
});

constexpr auto kCatalog = std::to_array<PartitionEntry>({
    {"shared", "every worker draws from all examples, in its own order", {}},
    {"iid", "a random equal share of the examples for each worker", {}},
    {"contiguous", "the examples in their order, cut into equal shares: parts of a text", {}},
    {"sorted", "examples sorted by class, then cut into equal shares", {}, true},
    {"dirichlet", "class shares of each worker from a Dirichlet distribution", kDirichletFields,
     true},
    {"classes", "each worker has some of the classes, shared evenly with others", kClassesFields,
     true},
    {"quantity", "sizes from a Dirichlet distribution, classes mixed", kQuantityFields},
});

List all_examples(std::int64_t count) {
  List list(static_cast<std::size_t>(count));
  std::iota(list.begin(), list.end(), 0);
  return list;
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

/// Shares that are drawn for the workers, and their logarithms.
struct Shares {
  std::vector<double> weights, logs;
  Shares(std::size_t workers, double alpha, Stream& stream) {
    for (std::size_t i = 0; i < workers; ++i) {
      const auto [weight, log] = stream.gamma_and_log(alpha);
      weights.push_back(weight);
      logs.push_back(log);
    }
  }
  /// Makes the weights of workers with room comparable where all of them were too small for a
  /// double.
  void rescale(const std::vector<std::size_t>& room) {
    double most = -INFINITY;
    for (std::size_t i = 0; i < room.size(); ++i)
      if (room[i] > 0) most = std::max(most, logs[i]);
    for (std::size_t i = 0; i < room.size(); ++i) weights[i] = std::exp(logs[i] - most);
  }
};

// Deals `cards` to the workers in proportion to their shares, none beyond its `room`. Cards that a
// full worker cannot take are dealt again among the others, which renormalises their weights. The
// rounded cumulative shares add up to the remaining cards, so every pass deals at least one card.
void deal(const List& cards, Shares shares, std::vector<std::size_t>& room,
          std::vector<List>& hands) {
  const std::vector<double>& weights = shares.weights;
  auto next_card = cards.begin();
  while (next_card != cards.end()) {
    const auto left = static_cast<double>(cards.end() - next_card);
    double total = 0;
    for (std::size_t i = 0; i < room.size(); ++i) total += room[i] > 0 ? weights[i] : 0;
    if (total == 0) {
      shares.rescale(room);
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

std::vector<List> by_class(const Split& train, int classes) {
  std::vector<List> lists(static_cast<std::size_t>(classes));
  for (const std::int32_t e : all_examples(train.size()))
    lists[static_cast<std::size_t>(train.label(e))].push_back(e);
  return lists;
}

std::vector<List> deal_dirichlet(const Split& train, int classes, std::size_t workers, double alpha,
                                 Stream& stream) {
  std::vector<List> of_classes = by_class(train, classes);
  // The classes dealt last find many workers full; a random order favours none of them.
  List order = all_examples(classes);
  stream.shuffle(order);

  std::vector<List> lists(workers);
  std::vector<std::size_t> room = equal_sizes(static_cast<std::size_t>(train.size()), workers);
  for (const std::int32_t label : order) {
    List& examples = of_classes[static_cast<std::size_t>(label)];
    stream.shuffle(examples);
    deal(examples, Shares(workers, alpha, stream), room, lists);
  }
  return lists;
}

// Each worker takes the classes that the fewest workers have; a random order decides among equals.
std::vector<List> deal_classes(const Split& train, int classes, std::size_t workers,
                               std::size_t of_each, Stream& stream) {
  if (of_each > static_cast<std::size_t>(classes) ||
      workers * of_each < static_cast<std::size_t>(classes))
    throw UsageError(fmt::format(
        "partition 'classes' cannot give {} of {} classes to each of {} workers so that "
        "every class has one: change classes_per_worker, or use more workers",
        of_each, classes, workers));
  std::vector<List> holders(static_cast<std::size_t>(classes));
  for (std::size_t worker = 0; worker < workers; ++worker) {
    List order = all_examples(classes);
    stream.shuffle(order);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return holders[static_cast<std::size_t>(a)].size() <
             holders[static_cast<std::size_t>(b)].size();
    });
    for (std::size_t k = 0; k < of_each; ++k)
      holders[static_cast<std::size_t>(order[k])].push_back(static_cast<std::int32_t>(worker));
  }
  std::vector<List> of_classes = by_class(train, classes), lists(workers);
  for (std::size_t label = 0; label < of_classes.size(); ++label) {
    stream.shuffle(of_classes[label]);
    const std::vector<List> shares = cut(of_classes[label], holders[label].size());
    for (std::size_t k = 0; k < shares.size(); ++k) {
      List& list = lists[static_cast<std::size_t>(holders[label][k])];
      list.insert(list.end(), shares[k].begin(), shares[k].end());
    }
  }
  for (const List& list : lists)
    if (list.empty())
      throw UsageError(
          fmt::format("partition 'classes' leaves a worker of {} without examples: its classes "
                      "have fewer than workers; use fewer workers or more classes_per_worker",
                      workers));
  return lists;
}

// Deals one example to each worker, the others in proportion to the weights.
std::vector<List> deal_quantity(const Split& train, std::size_t workers, double alpha,
                                Stream& stream) {
  List cards = all_examples(train.size());
  stream.shuffle(cards);
  Shares shares(workers, alpha, stream);
  std::vector<List> lists(workers);
  for (List& list : lists) {
    list.push_back(cards.back());
    cards.pop_back();
  }
  std::vector<std::size_t> room(workers, cards.size());
  deal(cards, std::move(shares), room, lists);
  return lists;
}

}  // namespace

std::span<const PartitionEntry> partition_catalog() { return kCatalog; }

bool looks_at_classes(const nlohmann::json& partition) {
  const std::string kind = text(partition, "kind");
  return std::ranges::any_of(
      kCatalog, [&](const PartitionEntry& entry) { return entry.by_class && entry.name == kind; });
}

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
    stream.shuffle(list);
    return {cut(list, count)};
  }
  if (kind == "sorted") {
    std::stable_sort(list.begin(), list.end(), [&](std::int32_t a, std::int32_t b) {
      return train.label(a) < train.label(b);
    });
    return {cut(list, count)};
  }
  if (kind == "classes")
    return {deal_classes(train, classes, count,
                         static_cast<std::size_t>(integer(partition, "classes_per_worker")),
                         stream)};
  if (kind == "quantity") return {deal_quantity(train, count, number(partition, "alpha"), stream)};
  ACID_ASSERT(kind == "dirichlet", "partition '{}'", kind);
  return {deal_dirichlet(train, classes, count, number(partition, "alpha"), stream)};
}

std::vector<std::vector<std::int64_t>> count_holdings(const Shards& shards, const Split& train,
                                                      int classes, int workers) {
  if (classes > kMostCountedClasses) classes = 1;
  std::vector<std::vector<std::int64_t>> holdings;
  for (const List& list : shards.lists) {
    std::vector<std::int64_t>& counts =
        holdings.emplace_back(static_cast<std::size_t>(std::max(classes, 1)));
    if (classes <= 1)
      counts[0] = std::ssize(list);
    else
      for (const std::int32_t example : list)
        ++counts.at(static_cast<std::size_t>(train.label(example)));
  }
  // When all workers share one list, each of them has it.
  if (holdings.size() == 1)
    holdings.resize(static_cast<std::size_t>(workers), std::vector(holdings[0]));
  return holdings;
}

}  // namespace acid
