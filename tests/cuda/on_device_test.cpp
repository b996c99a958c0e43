// Tests that need a GPU; device_probe tells whether there is one.
#include <algorithm>
#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/cuda/runtime.hpp"
#include "engine/language/compiled_pass.hpp"
#include "engine/run/mean_of_rows.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/direction.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/drivers/replay_fixture.hpp"
#include "tests/language/life.hpp"

using namespace acid;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;
using test::Setup;

namespace {

const Backend& device() { return load_cuda_runtime().backend(0); }

/// Numbers of every size, with zeros of both signs. No NaN: its bits depend on the processor.
template <class T>
void fill(std::span<T> values, std::uint32_t salt) {
  Stream stream(7, salt);
  for (std::size_t k = 0; k < values.size(); ++k) {
    values[k] = static_cast<T>(stream.uniform() - 0.5);
    if (k % 11 == 3) values[k] *= static_cast<T>(1e-39);
    if (k % 13 == 5) values[k] *= static_cast<T>(1e30);
    if (k % 31 == 7) values[k] = static_cast<T>(-0.0);
  }
}

/// The vectors of one call, in a backend's memory, each beginning `offset` elements into an arena.
template <class T>
class Vectors {
 public:
  Vectors(const Backend& backend, std::size_t size, const std::vector<std::size_t>& offsets)
      : size_(size), offsets_(offsets) {
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      arenas_.emplace_back(size + 8, backend);
      fill(arenas_.back().span(), static_cast<std::uint32_t>(k));
      if (k >= 4)  // second moments
        for (T& value : arenas_.back().span()) value = std::abs(value);
    }
  }
  T* at(std::size_t k) { return arenas_[k].data() + offsets_[k]; }
  std::size_t size() const { return size_; }
  /// Compares all elements of all vectors, and those around them.
  bool same_bits(Vectors& other) {
    for (std::size_t k = 0; k < arenas_.size(); ++k)
      if (std::memcmp(arenas_[k].data(), other.arenas_[k].data(), arenas_[k].size() * sizeof(T)) !=
          0)
        return false;
    return true;
  }

 private:
  const std::size_t size_;
  const std::vector<std::size_t> offsets_;
  std::vector<Arena<T>> arenas_;
};

template <class T>
using Call = std::function<void(const kernels::Table<T>&, Vectors<T>&)>;

template <class T>
std::vector<Call<T>> calls() {
  std::vector<Call<T>> list;
  list.push_back([](const auto& table, Vectors<T>& v) { table.copy(v.at(0), v.at(1), v.size()); });
  list.push_back(
      [](const auto& table, Vectors<T>& v) { table.scale(v.at(0), T(0.3), v.at(1), v.size()); });
  for (const double excess : {0.0, 0.3})
    list.push_back([excess](const auto& table, Vectors<T>& v) {
      const std::array<kernels::Weighted<T>, 3> messages{
          {{v.at(0), excess}, {v.at(1), 0.2}, {v.at(2), 0.1}}};
      table.weighted_mean(messages.data(), messages.size(), 0, v.at(3), v.size());
    });
  list.push_back([](const auto& table, Vectors<T>& v) {
    const std::array<const T*, 3> vectors{v.at(0), v.at(1), v.at(2)};
    table.mean(vectors.data(), vectors.size(), 0, v.at(3), v.size());
  });
  return list;
}

template <class T>
void check_bits(std::size_t size, const std::vector<std::size_t>& offsets) {
  std::size_t number = 0;
  for (const Call<T>& call : calls<T>()) {
    INFO("call " << number++ << ", " << size << " elements of " << sizeof(T) << " bytes");
    Vectors<T> here(cpu_backend(), size, offsets), there(device(), size, offsets);
    call(cpu_backend().kernels<T>(), here);
    call(device().kernels<T>(), there);
    CHECK(there.same_bits(here));
  }
}

}  // namespace

TEST_CASE("every kernel gives the processor's bits on the device") {
  const std::vector<std::size_t> aligned(6, 0), shifted(6, 3), mixed{0, 1, 2, 3, 0, 1};
  for (const std::size_t size : {0, 1, 3, 4, 5, 63, 64, 65, 130, 1000, 300'001}) {
    for (const auto& offsets : {aligned, shifted, mixed}) {
      check_bits<float>(size, offsets);
      check_bits<double>(size, offsets);
    }
  }
}

TEST_CASE("the device takes norms, and distances with the host's bits") {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{33}, std::size_t{70'001}, std::size_t{3} << 16}) {
    std::vector<Arena<float>> vectors;
    std::vector<const float*> rows;
    for (std::uint32_t i = 0; i < 5; ++i) {
      vectors.emplace_back(size, device());
      Stream stream(7, i);
      for (float& value : vectors[i].span()) value = static_cast<float>(stream.uniform() - 0.5);
      rows.push_back(vectors[i].data());
    }
    const auto rows_at = [&](std::size_t first, std::size_t, std::span<const float*> out) {
      for (std::size_t i = 0; i < rows.size(); ++i) out[i] = rows[i] + first;
    };
    CHECK(device().kernels<float>().norm(rows[0], size) ==
          Approx(euclidean_norm(vectors[0].span())).epsilon(1e-12));
    const MeanModel here = mean_of_rows(rows.size(), size, false, rows_at);
    for (const std::size_t block : {kernels::kSpreadPart, 2 * kernels::kSpreadPart}) {
      const MeanModel there = spread_of_rows(rows.size(), size, block, device(), rows_at);
      CHECK(there.consensus_distance == here.consensus_distance);
      CHECK(there.length == here.length);
    }
  }
}

TEST_CASE("the device's memory is zeroed, readable by the host, and gathers") {
  Arena<float> x(100'000, device());
  CHECK(std::all_of(x.span().begin(), x.span().end(), [](float value) { return value == 0; }));
  fill(x.span(), 1);
  std::vector<float> all(x.size());
  device().kernels<float>().copy(x.data(), all.data(), all.size());
  CHECK(std::equal(all.begin(), all.end(), x.data()));
  const std::vector<std::size_t> positions{0, 99'999, 5, 70'000};
  std::vector<float> some(4);
  device().gather(x.data(), positions, some.data());
  for (std::size_t k = 0; k < 4; ++k) CHECK(some[k] == x.data()[positions[k]]);
}

TEST_CASE("runs have the processor's bits on the device: virtual, threads and mpi") {
  const std::string algorithm = GENERATE("ad-psgd", "a2cid2", "d-psgd", "ar-sgd");
  const auto run_on = [&](const Backend& backend) {
    Setup setup;
    setup.workers = 4;
    setup.algorithm = algorithm;
    setup.task = {{"dimension", 50}, {"noise", 0.5}};
    setup.spec.backend = &backend;
    setup.spec.optimizer.momentum = 0.9;
    setup.spec.budget.gradients = 200;
    setup.spec.keep_events = true;
    return setup.run();
  };
  const Outcome there = run_on(device());
  CHECK(there.worker_digests == run_on(cpu_backend()).worker_digests);

  if (algorithm == "d-psgd" || algorithm == "ar-sgd") return;
  Replayable run({.algorithm = algorithm, .workers = 3, .rate = 2, .gradients = 300});
  run.spec.backend = &device();
  MemoryRecorder on_threads, by_processes, again;
  const Outcome threads = run.record(on_threads);
  Processes processes{run.spec, run.task};
  const Outcome mpi = processes.run(by_processes);
  check_no_errors(processes);
  run.spec.backend = &cpu_backend();
  test::check_same_end(run.replay(test::script_of(on_threads, 3), again), threads);
  ReplayScript script = test::script_of(by_processes, 3);
  script.shared_clock = false;
  MemoryRecorder and_again;
  test::check_same_end(run.replay(script, and_again), mpi);
}

TEST_CASE("methods that are listings have the processor's bits on the device, by kernels") {
  REQUIRE(why_interpreted(device()).empty());
  std::vector<Listing> listings = test::shipped_listings();
  listings.push_back(test::listing_with_reductions());
  for (const Listing& listing : listings) {
    const std::vector<std::size_t> sizes{1, 1023, 5000};
    test::check_same(test::live(listing, sizes, device()),
                     test::live(listing, sizes, *cpu_backend("baseline")));
  }
}

TEST_CASE("threads use the device beside each other") {
  constexpr std::size_t kSize = 100'000;
  std::vector<std::thread> threads;
  std::vector<int> right(8, 0);
  for (std::size_t k = 0; k < right.size(); ++k)
    threads.emplace_back([&, k] {
      Arena<float> x(kSize, device()), sum(kSize, device());
      std::fill_n(x.data(), kSize, static_cast<float>(k + 1));
      for (int repeat = 0; repeat < 10; ++repeat) {
        device().kernels<float>().scale(x.data(), 2, sum.data(), kSize);
        device().kernels<float>().copy(sum.data(), x.data(), kSize);
      }
      right[k] = std::all_of(sum.data(), sum.data() + kSize, [&](float value) {
        return value == 1024 * static_cast<float>(k + 1);
      });
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(8, 1));
}
