#include "engine/worker/worker_memory.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"
#include "tests/worker/workers.hpp"

using namespace acid;

namespace {

WorkerSettings settings_of(std::size_t dimension, OptimizerKind kind, test::Mixing mixing) {
  WorkerSettings settings;
  settings.dimension = dimension;
  settings.buffer_size = 3;
  settings.follow(mixing.rules());
  settings.optimizer.kind = kind;
  settings.decay = {{0, dimension, 0}};
  return settings;
}

/// All vectors of a worker that have elements, with buffers.
std::vector<std::span<float>> vectors_of(Worker& worker) {
  std::vector<std::span<float>> list;
  worker.for_each_vector([&](std::string_view, std::span<float> vector) {
    if (!vector.empty()) list.push_back(vector);
  });
  list.push_back(worker.gradient());
  list.push_back(worker.gradient_buffers());
  return list;
}

}  // namespace

TEST_CASE("worker memory: no two vectors of any workers overlap, and all are aligned") {
  for (const std::size_t dimension : {1u, 15u, 16u, 64u, 1023u, 1024u, 5000u})
    for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adam})
      for (const test::Mixing mixing : {test::kAverage, test::kAccelerated}) {
        const WorkerSettings settings = settings_of(dimension, kind, mixing);
        WorkerMemory<float> memory(settings, 5);
        std::vector<Worker> workers;
        for (std::size_t i = 0; i < 5; ++i) workers.emplace_back(settings, memory, i);
        float stamp = 0;
        for (Worker& worker : workers)
          for (const std::span<float> vector : vectors_of(worker)) {
            CHECK(reinterpret_cast<std::uintptr_t>(vector.data()) % 64 == 0);
            std::fill(vector.begin(), vector.end(), ++stamp);
          }
        stamp = 0;
        for (Worker& worker : workers)
          for (const std::span<float> vector : vectors_of(worker)) {
            ++stamp;
            CHECK(std::count(vector.begin(), vector.end(), stamp) ==
                  static_cast<std::ptrdiff_t>(vector.size()));
          }
      }
}

TEST_CASE("worker memory: long vectors that one kernel touches are apart within a page") {
  for (std::size_t dimension = 1024; dimension < 6000; dimension += 61) {
    const WorkerSettings settings = settings_of(dimension, OptimizerKind::adam, test::kAccelerated);
    const std::size_t shared = Worker::shared_size(settings);
    Arena<float> window(shared + 16);
    WorkerMemory<float> own(settings, 3), partly(settings, 1, window.span().subspan(16, shared));
    Worker inside(settings, own, 2), outside(settings, partly);
    for (Worker* worker : {&inside, &outside}) {
      std::vector<std::uintptr_t> starts;
      for (const std::span<float> vector : vectors_of(*worker))
        if (vector.size() == dimension)
          starts.push_back(reinterpret_cast<std::uintptr_t>(vector.data()) % 4096);
      REQUIRE(starts.size() == 6);
      for (std::size_t a = 0; a < 6; ++a)
        for (std::size_t b = 0; b < a; ++b) {
          const std::uintptr_t apart = (starts[a] - starts[b]) % 4096;
          INFO(dimension << " elements, vectors " << a << " and " << b);
          CHECK(std::min(apart, 4096 - apart) >= 64);
        }
    }
  }
}

TEST_CASE("worker memory: many small workers are dense, and those without gradients denser") {
  WorkerSettings settings = settings_of(64, OptimizerKind::sgd, test::kAverage);
  WorkerMemory<float> memory(settings, 1000);
  CHECK(memory.shared(999) == memory.shared(0) + 999 * 64);
  CHECK(WorkerLayout<float>(settings).own_bytes() == 2 * 256 + 2 * 64);
  settings.gradients = false;
  CHECK(WorkerLayout<float>(settings).own_bytes() == 2 * 64);
  CHECK(sizeof(Worker) == 64);

  WorkerMemory<float> bare(settings, 2);
  Worker i(settings, bare, 0), j(settings, bare, 1);
  CHECK(i.snapshot().empty());
  CHECK(i.gradient().empty());
  std::vector<float> ones(64, 1), buffers(3, 5);
  i.start(ones, buffers);
  Worker::exchange(i, j, 1);
  CHECK(i.x()[63] == 0.5F);
  CHECK(j.x()[0] == 0.5F);
  CHECK(i.buffers()[2] == 5);
}

TEST_CASE("worker memory: without snapshots a gradient is computed at x, to the same effect") {
  WorkerSettings with = settings_of(64, OptimizerKind::adam, test::kAverage), without = with;
  without.snapshots = false;
  CHECK(WorkerLayout<float>(with).own_bytes() - WorkerLayout<float>(without).own_bytes() == 256);
  WorkerMemory<float> roomy(with, 1), dense(without, 1);
  Worker a(with, roomy), b(without, dense);
  CHECK(b.snapshot().data() == b.x().data());
  std::vector<float> x0(64), buffers(3);
  std::iota(x0.begin(), x0.end(), 1.0F);
  for (Worker* worker : {&a, &b}) {
    worker->start(x0, buffers);
    for (int k = 1; k <= 3; ++k) {
      worker->begin_gradient(k);
      std::copy_n(worker->snapshot().begin(), 64, worker->gradient().begin());
      worker->commit_gradient(k, worker->gradient(), 0.1);
    }
  }
  CHECK(std::vector<float>(a.x().begin(), a.x().end()) ==
        std::vector<float>(b.x().begin(), b.x().end()));
  b.for_each_vector([](std::string_view name, std::span<float> vector) {
    if (name == "snapshot") CHECK(vector.empty());
  });
}

TEST_CASE("worker memory: shared memory must be of the size that the settings ask for") {
  const WorkerSettings settings = settings_of(100, OptimizerKind::sgd, test::kAccelerated);
  Arena<float> window(Worker::shared_size(settings));
  CHECK_THROWS_AS(WorkerMemory<float>(settings, 1, window.span().first(100)), AssertionError);
  CHECK_THROWS_AS(WorkerMemory<float>(settings, 2, window.span()), AssertionError);
  WorkerMemory<float> memory(settings, 1, window.span());
  const Worker worker(settings, memory);
  CHECK(worker.x().data() == window.data());
}
