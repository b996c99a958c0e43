#include "engine/models/prefetcher.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include "tests/catch.hpp"

using namespace acid;

namespace {

/// Minibatches that name their worker, and a record of which thread gathered what.
class Gathered {
 public:
  using Key = std::pair<int, std::int64_t>;  // worker, step

  void gather(int worker, std::int64_t step, Minibatch& out) {
    const MutexLock lock(mutex_);
    by_[{worker, step}].push_back(std::this_thread::get_id());
    changed_.notify_all();
    if (fails.contains({worker, step})) throw std::runtime_error("no such example");
    out.features.assign(1, static_cast<float>(worker));
    out.labels.assign(1, step);
  }
  Prefetcher::Gather function() {
    return [this](int worker, std::int64_t step, Minibatch& out) { gather(worker, step, out); };
  }
  /// Sleeps until a thread has begun to gather it.
  void wait_for(Key key) {
    const MutexLock lock(mutex_);
    while (by_[key].empty()) changed_.wait(mutex_);
  }
  std::vector<std::thread::id> by(Key key) {
    const MutexLock lock(mutex_);
    return by_[key];
  }

  std::set<Key> fails;  // set before anything is gathered

 private:
  Mutex mutex_;
  Condition changed_;
  std::map<Key, std::vector<std::thread::id>> by_ GUARDED_BY(mutex_);
};

void check_is(const Minibatch& minibatch, int worker, std::int64_t step) {
  CHECK(minibatch.features == std::vector<float>{static_cast<float>(worker)});
  CHECK(minibatch.labels == std::vector<std::int64_t>{step});
}

}  // namespace

TEST_CASE("a worker's next minibatch is gathered by another thread, once") {
  Gathered gathered;
  Prefetcher prefetcher(2, gathered.function());
  Minibatch minibatch;
  prefetcher.take(1, 0, minibatch);
  check_is(minibatch, 1, 0);
  CHECK(gathered.by({1, 0}) == std::vector{std::this_thread::get_id()});
  for (std::int64_t step = 1; step < 5; ++step) {
    gathered.wait_for({1, step});  // so it is at least begun
    prefetcher.take(1, step, minibatch);
    check_is(minibatch, 1, step);
    REQUIRE(gathered.by({1, step}).size() == 1);
    CHECK(gathered.by({1, step})[0] != std::this_thread::get_id());
  }
}

TEST_CASE("the step that is asked for comes, also if it is not the next") {
  Gathered gathered;
  Prefetcher prefetcher(3, gathered.function());
  Minibatch minibatch;
  for (const std::int64_t step : {5, 6, 6, 2, 100, 0, 1, 2}) {
    for (int worker = 0; worker < 3; ++worker) {
      prefetcher.take(worker, step, minibatch);
      check_is(minibatch, worker, step);
    }
  }
}

TEST_CASE("a minibatch that cannot be gathered is an error where it is taken") {
  Gathered gathered;
  gathered.fails = {{0, 1}};
  Prefetcher prefetcher(1, gathered.function());
  Minibatch minibatch;
  prefetcher.take(0, 0, minibatch);
  gathered.wait_for({0, 1});  // has failed, or will before the lock is free
  CHECK_THROWS_WITH(prefetcher.take(0, 1, minibatch), "no such example");
  prefetcher.take(0, 2, minibatch);
  check_is(minibatch, 0, 2);
}

TEST_CASE("threads that take at once get their own workers' minibatches") {
  constexpr int kWorkers = 4;
  Gathered gathered;
  Prefetcher prefetcher(kWorkers, gathered.function());
  std::vector<int> wrong(kWorkers);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&prefetcher, &wrong, worker] {
      Minibatch minibatch;
      for (std::int64_t step = 0; step < 300; ++step) {
        prefetcher.take(worker, step, minibatch);
        if (minibatch.features[0] != static_cast<float>(worker) || minibatch.labels[0] != step)
          ++wrong[static_cast<std::size_t>(worker)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kWorkers));
}

TEST_CASE("a prefetcher that is not, or no longer, taken from ends at once") {
  Gathered gathered;
  { Prefetcher unused(3, gathered.function()); }
  Minibatch minibatch;
  { Prefetcher(3, gathered.function()).take(2, 7, minibatch); }
  check_is(minibatch, 2, 7);
}
