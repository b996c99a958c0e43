#include "engine/worker/team.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;

namespace {

/// How often each element is covered by the parts of a pass.
std::vector<int> coverage(Team& team, int threads, std::size_t size) {
  std::vector<int> times(size);
  team.run(threads, size, [&](std::size_t first, std::size_t count) {
    for (std::size_t k = first; k < first + count; ++k) ++times[k];
  });
  return times;
}

/// All vectors of two workers after every kind of event, with this many threads.
std::vector<std::vector<float>> eventful(int threads, OptimizerKind kind) {
  constexpr std::size_t kSize = 3 * Team::kLeastPart + 77;
  WorkerSettings settings;
  settings.dimension = kSize;
  settings.follow(test::kAccelerated.rules());
  settings.optimizer.kind = kind;
  settings.optimizer.momentum = 0.9;
  settings.decay = {{0, 1000, 0}, {1000, kSize, 0.01}};
  settings.threads = threads;
  WorkerMemory<float> memory(settings, 2);
  Worker i(settings, memory, 0), j(settings, memory, 1);
  std::vector<float> x0(kSize), offer_i(kSize), offer_j(kSize);
  Stream random(3);
  for (float& value : x0) value = static_cast<float>(random.normal());
  i.start(x0);
  i.begin_gradient(0);
  for (float& value : i.gradient()) value = static_cast<float>(random.normal());
  i.commit_gradient(0.5, i.gradient(), 0.1, true);
  Worker::exchange(i, j, 0.7);
  i.offer(0.9, offer_i);
  j.offer(0.9, offer_j);
  i.apply(1.1, 0.9, offer_i, offer_j);
  j.apply(1.3, 0.9, offer_j, offer_i);
  i.finish(2);
  std::vector<std::vector<float>> all;
  for (Worker* worker : {&i, &j})
    worker->for_each_vector([&](std::string_view, std::span<float> vector) {
      all.emplace_back(vector.begin(), vector.end());
    });
  return all;
}

}  // namespace

TEST_CASE("team: the parts of a pass cover every element once") {
  Team team;
  for (const int threads : {1, 2, 3, 8})
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, Team::kLeastPart, 2 * Team::kLeastPart,
          3 * Team::kLeastPart - 1, 5 * Team::kLeastPart + 13}) {
      const std::vector<int> times = coverage(team, threads, size);
      CHECK(std::count(times.begin(), times.end(), 1) == static_cast<std::ptrdiff_t>(size));
    }
}

TEST_CASE("team: many threads with a team each, again and again") {
  constexpr std::size_t kSize = 4 * Team::kLeastPart;
  std::atomic<std::size_t> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] {
      for (int pass = 0; pass < 50; ++pass)
        team_of_this_thread().run(3, kSize,
                                  [&](std::size_t, std::size_t count) { total += count; });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 3 * 50 * kSize);
}

TEST_CASE("team: the threads of a worker change no bit of its state") {
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
    const auto alone = eventful(1, kind);
    CHECK(eventful(2, kind) == alone);
    CHECK(eventful(3, kind) == alone);
  }
}
