// The reduction alone: its bits are those of mean_in_order, for any order of arrival.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/base/rng.hpp"
#include "engine/drivers/mpi/all_reduce.hpp"
#include "engine/run/ensemble.hpp"
#include "tests/catch.hpp"
#include "tests/transport/local_cluster.hpp"

using namespace acid;

namespace {

using Vector = std::vector<float>;

/// Numbers of many magnitudes, so that sums in another order would have other bits.
Vector own_vector(std::size_t dimension, int round, int rank) {
  auto state = static_cast<std::uint32_t>(1000 * round + rank + 1);
  Vector values(dimension);
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = 1.0F / static_cast<float>(state >> 8) - 1e-7F;
  }
  return values;
}

Vector expected_mean(std::size_t dimension, int round, int size) {
  std::vector<Vector> vectors;
  std::vector<const float*> pointers;
  for (int rank = 0; rank < size; ++rank) vectors.push_back(own_vector(dimension, round, rank));
  for (const Vector& vector : vectors) pointers.push_back(vector.data());
  Vector mean(dimension);
  mean_in_order<float>(pointers, mean.data(), 0, dimension);
  return mean;
}

/// Adds up the vectors of all ranks, as a collective of the MPI library does.
class Meeting {
 public:
  Meeting(int size, std::size_t dimension) : size_(size), sum_(dimension) {}
  void sum(std::span<float> values) {
    MutexLock lock(mutex_);
    for (std::size_t k = 0; k < values.size(); ++k) sum_[k] += values[k];
    const int meeting = arrived_++ / size_;
    changed_.notify_all();
    while (arrived_ < (meeting + 1) * size_) changed_.wait(mutex_);
    std::copy(sum_.begin(), sum_.end(), values.begin());
    if (++left_ % size_ == 0) std::fill(sum_.begin(), sum_.end(), 0.0F);
  }

 private:
  const int size_;
  Mutex mutex_;
  Condition changed_;
  int arrived_ GUARDED_BY(mutex_) = 0, left_ GUARDED_BY(mutex_) = 0;
  Vector sum_ GUARDED_BY(mutex_);
};

/// The rounds of one process. Its buckets come in an order and at times of its own.
std::vector<Vector> means_of(Transport& transport, std::size_t dimension, int rounds,
                             const std::function<void(std::span<float>)>& library_sum) {
  Post post(transport);
  const Buckets buckets(dimension);
  Vector own(dimension);
  bool over = false;
  std::vector<int> members(static_cast<std::size_t>(transport.size()));
  std::iota(members.begin(), members.end(), 0);
  AllReduce reduce(post, {-1, dimension}, members, buckets, own, cpu_backend(), library_sum,
                   [&] { over = true; });
  Stream stream(static_cast<std::uint64_t>(7 + transport.rank()));
  std::vector<Vector> means;
  for (int round = 0; round < rounds; ++round) {
    std::ranges::copy(own_vector(dimension, round, transport.rank()), own.begin());
    std::vector<std::size_t> order;
    for (std::size_t b = 0; b < buckets.size(); ++b)
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(stream.below(order.size() + 1)), b);
    over = false;
    while (!over) {
      if (!order.empty()) {
        reduce.contribute(order.back());
        order.pop_back();
      }
      if (!over) post.pump(order.empty() ? 1 : 0, [&](const Mail& m) { reduce.deliver(m); });
    }
    means.emplace_back(reduce.mean().begin(), reduce.mean().end());
  }
  while (!post.idle()) post.pump(1, [&](const Mail& mail) { reduce.deliver(mail); });
  transport.leave();
  return means;
}

std::vector<std::vector<Vector>> run_all(int size, std::size_t dimension, int rounds,
                                         bool by_library) {
  LocalCluster cluster(size);
  Meeting meeting(size, dimension);
  std::function<void(std::span<float>)> library_sum;
  if (by_library) library_sum = [&](std::span<float> values) { meeting.sum(values); };
  std::vector<std::vector<Vector>> means(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      means[static_cast<std::size_t>(rank)] =
          means_of(cluster.at(rank), dimension, rounds, library_sum);
    });
  for (std::thread& thread : threads) thread.join();
  return means;
}

}  // namespace

TEST_CASE("buckets cut a vector without gaps, from its end, and know their elements") {
  for (const std::size_t d : {1u, 2u, 262143u, 262144u, 262145u, 1000003u}) {
    INFO("dimension " << d);
    const Buckets buckets(d);
    std::size_t end = d;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      const auto [first, last] = buckets.range(b);
      CHECK(last == end);
      CHECK(first < last);
      CHECK(last - first <= 262144);
      CHECK(buckets.holding(first) == b);
      CHECK(buckets.holding(last - 1) == b);
      end = first;
    }
    CHECK(end == 0);
  }
}

TEST_CASE("the all-reduce adds in worker order, whatever comes first") {
  for (const int size : {1, 2, 3, 4, 7})
    for (const std::size_t dimension : {1u, 2u, 63u, 65u, 600'001u}) {
      INFO(size << " processes, dimension " << dimension);
      if (dimension > 1000 && size == 7) continue;
      const int rounds = dimension > 1000 ? 2 : 20;
      const auto means = run_all(size, dimension, rounds, false);
      for (int round = 0; round < rounds; ++round) {
        const Vector expected = expected_mean(dimension, round, size);
        for (const auto& of_rank : means)
          CHECK((of_rank[static_cast<std::size_t>(round)] == expected));
      }
    }
}

TEST_CASE("the all-reduce can be left to a library, which chooses its own order") {
  const auto means = run_all(3, 600'001, 3, true);
  for (int round = 0; round < 3; ++round) {
    const Vector expected = expected_mean(600'001, round, 3);
    for (const auto& of_rank : means) {
      const Vector& mean = of_rank[static_cast<std::size_t>(round)];
      double worst = 0;
      for (std::size_t k = 0; k < mean.size(); ++k)
        worst = std::max(worst, std::abs(static_cast<double>(mean[k]) - expected[k]));
      CHECK(worst < 1e-5);
      CHECK((mean == means[0][static_cast<std::size_t>(round)]));
    }
  }
}
