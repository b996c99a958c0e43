#include "engine/drivers/shared/chain_pool.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("tasks of a chain run in the order they were submitted, for any number of threads") {
  for (const int threads : {0, 1, 2, 7}) {
    constexpr int kChains = 5;
    std::vector<std::vector<int>> seen(kChains);
    {
      ChainPool pool(kChains, threads);
      Stream stream(1);
      for (int k = 0; k < 3000; ++k) {
        const int a = static_cast<int>(stream.below(kChains));
        const int b = (a + 1 + static_cast<int>(stream.below(kChains - 1))) % kChains;
        const auto weight = k % 3 == 0 ? ChainPool::Weight::heavy : ChainPool::Weight::light;
        pool.submit(a, k % 2 == 0 ? b : ChainPool::kNoChain, weight, [&seen, a, b, k](int) {
          seen[static_cast<std::size_t>(a)].push_back(k);
          if (k % 2 == 0) seen[static_cast<std::size_t>(b)].push_back(k);
        });
      }
      pool.wait_all();
    }
    std::size_t total = 0;
    for (const auto& list : seen) {
      CHECK(std::is_sorted(list.begin(), list.end()));
      total += list.size();
    }
    CHECK(total == 4500);
  }
}

TEST_CASE("parallel_for visits every index once, on lanes that exist") {
  for (const int threads : {0, 3}) {
    ChainPool pool(1, threads);
    std::vector<std::atomic<int>> visits(100);
    std::atomic<bool> lanes_exist{true};
    pool.parallel_for(100, [&](int lane, int index) {
      if (lane < 0 || lane >= pool.lanes()) lanes_exist = false;
      ++visits[static_cast<std::size_t>(index)];
    });
    for (const auto& count : visits) CHECK(count == 1);
    CHECK(lanes_exist);
  }
}

TEST_CASE("waiting for light tasks does not wait for heavy ones that nothing needs") {
  ChainPool pool(2, 2);
  std::atomic<bool> release{false}, light_done{false};
  Mutex mutex;
  Condition changed;
  pool.submit(0, ChainPool::kNoChain, ChainPool::Weight::heavy, [&](int) {
    MutexLock lock(mutex);
    while (!release) changed.wait(mutex);
  });
  pool.submit(1, ChainPool::kNoChain, ChainPool::Weight::light, [&](int) { light_done = true; });
  pool.wait_light();
  CHECK(light_done);
  {
    MutexLock lock(mutex);
    release = true;
  }
  changed.notify_all();
  pool.wait_all();
}

TEST_CASE("an exception of a task reaches the thread that submits") {
  for (const int threads : {0, 2}) {
    ChainPool pool(1, threads);
    const auto use = [&] {
      for (int k = 0; k < 100; ++k)
        pool.submit(0, ChainPool::kNoChain, ChainPool::Weight::light, [k](int) {
          if (k == 3) throw std::runtime_error("task 3");
        });
      pool.wait_all();
    };
    CHECK_THROWS_WITH(use(), "task 3");
  }
}
