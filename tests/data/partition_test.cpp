#include <algorithm>
#include <numeric>
#include <set>

#include "engine/data/splits.hpp"
#include "tests/data/scratch.hpp"

namespace acid::testing {
namespace {

constexpr int kClasses = 10;

// Examples with one feature each; labels take turns.
FloatRows make_examples(int count) {
  std::vector<std::int32_t> labels(static_cast<std::size_t>(count));
  for (std::size_t e = 0; e < labels.size(); ++e)
    labels[e] = static_cast<std::int32_t>(e % kClasses);
  return FloatRows(std::vector<float>(labels.size()), labels);
}

nlohmann::json dirichlet(double alpha) { return {{"kind", "dirichlet"}, {"alpha", alpha}}; }

// Checks that every example is in exactly one list.
void check_complete(const Shards& shards, int count) {
  std::vector<std::int32_t> all, expected(static_cast<std::size_t>(count));
  for (const auto& list : shards.lists) all.insert(all.end(), list.begin(), list.end());
  std::ranges::sort(all);
  std::iota(expected.begin(), expected.end(), 0);
  CHECK(all == expected);
}

// Mean over the workers of the largest share of one class in a shard.
double skew(const Split& examples, const Shards& shards) {
  double sum = 0;
  for (const auto& list : shards.lists) {
    std::vector<int> counts(kClasses);
    for (const std::int32_t e : list) ++counts[static_cast<std::size_t>(examples.label(e))];
    sum += *std::max_element(counts.begin(), counts.end()) / static_cast<double>(list.size());
  }
  return sum / static_cast<double>(shards.lists.size());
}

}  // namespace

TEST_CASE("Partitions give every example to exactly one worker, in nearly equal shares") {
  for (const int workers : {1, 2, 3, 4, 7, 16, 64, 100})
    for (const nlohmann::json& partition :
         {nlohmann::json{{"kind", "iid"}}, nlohmann::json{{"kind", "contiguous"}},
          nlohmann::json{{"kind", "sorted"}}, dirichlet(0.3), dirichlet(0.001), dirichlet(1e-6),
          dirichlet(100.0)})
      for (const int count : {100, 1003}) {
        INFO(workers << " workers, " << count << " examples, " << partition.dump());
        const FloatRows examples = make_examples(count);
        const Shards shards = make_shards(examples, kClasses, workers, partition, Seeds(5));
        REQUIRE(std::ssize(shards.lists) == workers);
        for (int i = 0; i < workers; ++i) {
          const auto size = static_cast<int>(shards.of(i).size());
          CHECK((size == count / workers || size == count / workers + 1));
        }
        check_complete(shards, count);
      }
}

TEST_CASE("Contiguous shares hold neighbours, in order, for any seed") {
  const FloatRows examples = make_examples(10);
  const Shards shards = make_shards(examples, kClasses, 3, {{"kind", "contiguous"}}, Seeds(5));
  CHECK(shards.lists == std::vector<std::vector<std::int32_t>>{{0, 1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
}

TEST_CASE("A shared partition is one list for all workers, however many") {
  const FloatRows examples = make_examples(10);
  const Shards shards = make_shards(examples, kClasses, 50, {{"kind", "shared"}}, Seeds(1));
  CHECK(shards.lists.size() == 1);
  CHECK(shards.of(49).size() == 10);
}

TEST_CASE("More workers than examples is a usage error that says what to change") {
  const FloatRows examples = make_examples(10);
  for (const nlohmann::json& partition :
       {nlohmann::json{{"kind", "iid"}}, nlohmann::json{{"kind", "sorted"}}, dirichlet(0.3)}) {
    CHECK_NOTHROW(make_shards(examples, kClasses, 10, partition, Seeds(1)));
    CHECK_THROWS_AS(make_shards(examples, kClasses, 11, partition, Seeds(1)), UsageError);
    CHECK_THAT(message_of([&] { make_shards(examples, kClasses, 11, partition, Seeds(1)); }),
               ContainsSubstring("11 workers") && ContainsSubstring("shared"));
  }
}

TEST_CASE("Sorted shares hold neighbouring classes, iid ones all of them") {
  const FloatRows examples = make_examples(1000);
  const Shards sorted = make_shards(examples, kClasses, 5, {{"kind", "sorted"}}, Seeds(1));
  for (int i = 0; i < 5; ++i)
    for (const std::int32_t e : sorted.of(i)) CHECK(examples.label(e) / 2 == i);
  const Shards iid = make_shards(examples, kClasses, 5, {{"kind", "iid"}}, Seeds(1));
  CHECK(skew(examples, iid) < 0.2);
}

TEST_CASE("A smaller Dirichlet alpha gives more skewed shares") {
  const FloatRows examples = make_examples(8000);
  double previous = 1.01;
  for (const double alpha : {0.01, 0.3, 3.0, 300.0}) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      mean +=
          skew(examples, make_shards(examples, kClasses, 16, dirichlet(alpha), Seeds(seed))) / 5;
    INFO("alpha " << alpha << ", skew " << mean);
    CHECK(mean < previous);
    previous = mean;
  }
  CHECK(previous < 0.15);  // near iid, where it is 0.1
}

TEST_CASE("A Dirichlet alpha whose shares a double cannot hold gives each class to few workers") {
  const FloatRows examples = make_examples(8000);
  const auto mean_skew = [&](double alpha) {
    double mean = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      mean +=
          skew(examples, make_shards(examples, kClasses, 16, dirichlet(alpha), Seeds(seed))) / 5;
    return mean;
  };
  const double small = mean_skew(0.01);
  for (const double alpha : {1e-4, 1e-6, 1e-12}) CHECK(mean_skew(alpha) > 0.9 * small);
  const auto shards =
      make_shards(examples, kClasses, 8, {{"kind", "quantity"}, {"alpha", 1e-6}}, Seeds(1));
  std::size_t most = 0;
  for (const auto& list : shards.lists) most = std::max(most, list.size());
  CHECK(most == 8000 - 7);
}

TEST_CASE("Random partitions depend on the data seed and on nothing else") {
  const FloatRows examples = make_examples(500);
  for (const nlohmann::json& partition : {nlohmann::json{{"kind", "iid"}}, dirichlet(0.3)}) {
    Seeds seeds(3);
    const auto lists = make_shards(examples, kClasses, 8, partition, seeds).lists;
    seeds.init = seeds.gossip = seeds.compute = 99;
    CHECK(lists == make_shards(examples, kClasses, 8, partition, seeds).lists);
    CHECK(lists != make_shards(examples, kClasses, 8, partition, Seeds(4)).lists);
  }
}

TEST_CASE("Every partition of the catalog can be made, with a number where it needs one") {
  const FloatRows examples = make_examples(100);
  for (const PartitionEntry& entry : partition_catalog()) {
    const auto options = with_fallbacks(
        entry.fields,
        {{"kind", std::string(entry.name)}, {"alpha", 1000.0}, {"classes_per_worker", 5}});
    CHECK(make_shards(examples, kClasses, 4, options, Seeds(1)).of(3).size() >= 20);
  }
}

TEST_CASE("A partition that makes its shares without labels asks for none") {
  for (const char* kind : {"shared", "iid", "contiguous", "quantity"})
    CHECK_FALSE(looks_at_classes({{"kind", kind}}));
  for (const char* kind : {"sorted", "dirichlet", "classes"})
    CHECK(looks_at_classes({{"kind", kind}}));
}

TEST_CASE("Each pass of a worker's order covers its shard exactly, in a new order") {
  for (const std::size_t size : {1u, 2u, 3u, 7u, 64u, 65u, 1000u}) {
    std::vector<std::int32_t> shard(size);
    for (std::size_t i = 0; i < size; ++i) shard[i] = static_cast<std::int32_t>(3 * i + 1);
    const DataOrder order(shard, Seeds(7), 2);
    std::vector<std::vector<std::int32_t>> passes;
    for (std::int64_t pass = 0; pass < 4; ++pass) {
      passes.emplace_back();
      for (std::int64_t k = 0; k < std::ssize(shard); ++k)
        passes.back().push_back(order.at(pass * std::ssize(shard) + k));
      std::vector<std::int32_t> sorted = passes.back();
      std::sort(sorted.begin(), sorted.end());
      CHECK(sorted == shard);
    }
    if (size >= 64) CHECK(passes[0] != passes[1]);
  }
}

TEST_CASE("A worker's order never changes between versions") {
  std::vector<std::int32_t> shard(100);
  std::iota(shard.begin(), shard.end(), 0);
  const DataOrder order(shard, Seeds(7), 2);
  std::vector<std::int32_t> found;
  for (const int position : {0, 1, 99, 100, 250}) found.push_back(order.at(position));
  CHECK(found == std::vector<std::int32_t>{56, 16, 97, 68, 67});
}

TEST_CASE("A batch of a worker's order is what its single positions are, over any passes") {
  for (const std::size_t size : {1u, 2u, 3u, 7u, 64u, 65u, 1000u}) {
    std::vector<std::int32_t> shard(size);
    std::iota(shard.begin(), shard.end(), 5);
    const DataOrder order(shard, Seeds(7), 2);
    for (const std::int64_t position : {0, 1, 50, 999, 12345}) {
      for (const std::size_t batch : {0u, 1u, 16u, 127u, 128u, 129u, 300u}) {
        std::vector<std::int32_t> together(batch), single(batch);
        order.read(position, together);
        for (std::size_t k = 0; k < batch; ++k)
          single[k] = order.at(position + static_cast<std::int64_t>(k));
        INFO("batch of " << batch << " from " << position << ", shard of " << size);
        CHECK(together == single);
      }
    }
  }
}

TEST_CASE("Workers that share their examples see them in different orders") {
  std::vector<std::int32_t> shard(100);
  std::iota(shard.begin(), shard.end(), 0);
  const DataOrder first(shard, Seeds(7), 0), second(shard, Seeds(7), 1), again(shard, Seeds(7), 0);
  int same = 0;
  for (std::int64_t k = 0; k < 100; ++k) {
    CHECK(first.at(k) == again.at(k));
    same += first.at(k) == second.at(k) ? 1 : 0;
  }
  CHECK(same < 20);
}

TEST_CASE("What is held out and what is left hold every example once, by the key alone") {
  for (const std::int64_t size : {1, 2, 3, 10, 1000})
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, size / 3, size - 1}) {
      if (count >= size) continue;
      INFO(count << " of " << size);
      const HeldOut parts = hold_out(size, count, 7);
      CHECK(std::ssize(parts.validation) == count);
      CHECK(std::is_sorted(parts.train.begin(), parts.train.end()));
      std::vector<std::int32_t> all;
      std::merge(parts.train.begin(), parts.train.end(), parts.validation.begin(),
                 parts.validation.end(), std::back_inserter(all));
      std::vector<std::int32_t> expected(static_cast<std::size_t>(size));
      std::iota(expected.begin(), expected.end(), 0);
      CHECK(all == expected);
      CHECK(hold_out(size, count, 7).validation == parts.validation);
    }
  CHECK(hold_out(1000, 100, 7).validation != hold_out(1000, 100, 8).validation);
  CHECK(validation_key({{"kind", "mnist"}}) == validation_key({{"seed", 0}}));
  CHECK(validation_key({{"seed", 1}}) != validation_key({{"seed", 0}}));
}

TEST_CASE("Partitions by classes and by quantity give every example to exactly one worker") {
  const auto partition = [](int classes) {
    return nlohmann::json{{"kind", "classes"}, {"classes_per_worker", classes}};
  };
  for (const int workers : {1, 2, 3, 4, 7, 16, 64})
    for (const nlohmann::json& kind : {partition(1), partition(2), partition(3), partition(10),
                                       nlohmann::json{{"kind", "quantity"}, {"alpha", 1e-6}},
                                       nlohmann::json{{"kind", "quantity"}, {"alpha", 0.5}}}) {
      INFO(workers << " workers, " << kind.dump());
      const FloatRows examples = make_examples(1003);
      const int of_each = kind.value("classes_per_worker", 0);
      if (of_each * workers < kClasses && of_each > 0) {
        CHECK_THROWS_AS(make_shards(examples, kClasses, workers, kind, Seeds(5)), UsageError);
        continue;
      }
      const Shards shards = make_shards(examples, kClasses, workers, kind, Seeds(5));
      REQUIRE(std::ssize(shards.lists) == workers);
      for (const auto& list : shards.lists) {
        CHECK_FALSE(list.empty());
        std::set<int> classes;
        for (const std::int32_t e : list) classes.insert(examples.label(e));
        if (of_each > 0) CHECK(std::ssize(classes) == of_each);
      }
      check_complete(shards, 1003);
    }
  CHECK_THROWS_AS(make_shards(make_examples(50), kClasses, 4, partition(11), Seeds(1)), UsageError);
  // A worker that has only the class without examples would have none.
  CHECK_THROWS_AS(make_shards(make_examples(31), 11, 31, partition(1), Seeds(1)), UsageError);
}

TEST_CASE("A large concentration makes equal sizes, a small one few large workers") {
  const FloatRows examples = make_examples(1000);
  const auto largest = [&](double alpha) {
    const Shards shards =
        make_shards(examples, kClasses, 10, {{"kind", "quantity"}, {"alpha", alpha}}, Seeds(3));
    std::size_t most = 0;
    for (const auto& list : shards.lists) most = std::max(most, list.size());
    return most;
  };
  CHECK(largest(1e5) < 105);
  CHECK(largest(0.05) > 400);
}

TEST_CASE("Label noise gives the share of training labels another class, and no test label") {
  Dataset data;
  data.shape = {1, 1, 1, kClasses};
  data.train = std::make_shared<FloatRows>(make_examples(5000));
  data.test = std::make_shared<FloatRows>(make_examples(100));
  const auto changed = [&](double share, std::uint64_t key) {
    const Dataset noisy = with_label_noise(data, share, key);
    CHECK(noisy.test == data.test);
    std::vector<std::int64_t> list;
    for (std::int64_t e = 0; e < 5000; ++e) {
      CHECK(noisy.train->label(e) >= 0);
      CHECK(noisy.train->label(e) < kClasses);
      if (noisy.train->label(e) != data.train->label(e)) list.push_back(e);
    }
    return list;
  };
  CHECK(changed(0, 1).empty());
  CHECK(changed(1, 1).size() == 5000);
  CHECK(changed(0.2, 1).size() > 900);
  CHECK(changed(0.2, 1).size() < 1100);
  CHECK(changed(0.2, 1) == changed(0.2, 1));
  CHECK(changed(0.2, 1) != changed(0.2, 2));
}

TEST_CASE("Holdings count the examples of each class that a worker has") {
  using Counts = std::vector<std::vector<std::int64_t>>;
  const FloatRows train(std::vector<float>(6), {0, 2, 1, 2, 2, 0});
  const Shards one{{{0, 1, 2, 3, 4, 5}}}, three{{{0, 1}, {2, 3, 4}, {5}}};
  CHECK(count_holdings(one, train, 3, 2) == Counts{{2, 1, 3}, {2, 1, 3}});
  CHECK(count_holdings(three, train, 3, 3) == Counts{{1, 0, 1}, {0, 1, 2}, {1, 0, 0}});
  CHECK(count_holdings(three, train, 1, 3) == Counts{{2}, {3}, {1}});
}

TEST_CASE("A feature shift is noise whose variance grows with the worker, the same at each look") {
  constexpr std::int64_t kWidth = 600;  // more than is drawn at once
  constexpr int kWorkers = 4;
  std::vector<float> ones(40 * kWidth, 1);
  const auto plain = std::make_shared<FloatRows>(ones, std::vector<std::int32_t>(40, 1));
  const Shards shards = make_shards(*plain, 2, kWorkers, {{"kind", "iid"}}, Seeds(1));
  const auto shifted = with_feature_shift(plain, shards, 0.25, 7);
  REQUIRE(shifted->size() == 40);
  for (int worker = 0; worker < kWorkers; ++worker) {
    double sum = 0, squares = 0;
    for (const std::int32_t example : shards.of(worker)) {
      CHECK(shifted->label(example) == 1);
      const std::vector<float> noisy = features(*shifted, example, kWidth);
      CHECK(features(*shifted, example, kWidth) == noisy);
      for (const float value : noisy) {
        sum += value - 1.0;
        squares += (value - 1.0) * (value - 1.0);
      }
    }
    // 6,000 numbers each: four standard errors.
    const double variance = 0.25 * (worker + 1) / kWorkers;
    CHECK(std::abs(sum / 6000) < 4 * std::sqrt(variance / 6000));
    CHECK(std::abs(squares / 6000 / variance - 1) < 4 * std::sqrt(2.0 / 6000));
  }
  CHECK(features(*shifted, 0, kWidth) != features(*shifted, 1, kWidth));
  CHECK(features(*with_feature_shift(plain, shards, 0.25, 8), 0, kWidth) !=
        features(*shifted, 0, kWidth));
  CHECK(features(*with_feature_shift(plain, shards, 0, 7), 0, kWidth) ==
        features(*plain, 0, kWidth));
}

}  // namespace acid::testing
