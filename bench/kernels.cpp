// Measures the events of A²CiD²'s workers against bare loops with the same traffic, and against the
// same mathematics as tensor operations.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/pair.hpp"
#include "bench/repeat.hpp"
#include "bench/torch_kernels.hpp"
#include "engine/base/every_processor.hpp"
#include "engine/base/module.hpp"
#include "engine/language/compiled_pass.hpp"

namespace acid::bench {
namespace {

constexpr float kStep = 1e-4f;  // so small that nothing overflows

/// Vectors of one length. Each begins at a different distance from the start of a page: vectors at
/// the same distance take twice as long to read together.
class Vectors {
 public:
  static constexpr std::size_t kCount = 6;

  explicit Vectors(std::size_t size) : stride_((size + kPage - 1) / kPage * kPage + kShift) {
    memory_.resize(kCount * stride_ + kLine);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    first_ = (64 - address % 64) % 64 / sizeof(float);
    for (std::size_t k = 0; k < memory_.size(); ++k)
      memory_[k] = 1.0f + 1e-6f * static_cast<float>(k % 1000);
  }
  float* operator[](std::size_t vector) { return memory_.data() + first_ + vector * stride_; }
  std::array<float*, kCount> all() {
    std::array<float*, kCount> pointers;
    for (std::size_t k = 0; k < kCount; ++k) pointers[k] = (*this)[k];
    return pointers;
  }

 private:
  static constexpr std::size_t kLine = 16, kPage = 1024, kShift = 9 * kLine;  // floats
  std::size_t stride_, first_ = 0;
  std::vector<float> memory_;
};

// Peers: loops that read and write as many vectors in place as the kernel with the same comment,
// with almost no arithmetic.

// Reads a, b, c, d; writes a, b.
ACID_EVERY_PROCESSOR
void read_four_write_two(float* __restrict a, float* __restrict b, const float* __restrict c,
                         const float* __restrict d, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    a[k] += kStep * c[k];
    b[k] += kStep * d[k];
  }
}

// Reads and writes a, b, c, d.
ACID_EVERY_PROCESSOR
void read_four_write_four(float* __restrict a, float* __restrict b, float* __restrict c,
                          float* __restrict d, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    a[k] += kStep;
    b[k] += kStep;
    c[k] += kStep;
    d[k] += kStep;
  }
}

// Reads a, b, c, d; writes a, b, c and e.
ACID_EVERY_PROCESSOR
void read_four_write_three_and_copy(float* __restrict a, float* __restrict b, float* __restrict c,
                                    const float* __restrict d, float* __restrict e,
                                    std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    a[k] += kStep * d[k];
    b[k] += kStep;
    c[k] += kStep;
    e[k] = a[k];
  }
}

// Reads a, b, c, d, e; writes a, b, c, d.
ACID_EVERY_PROCESSOR
void read_five_write_four(float* __restrict a, float* __restrict b, float* __restrict c,
                          float* __restrict d, const float* __restrict e, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    a[k] += kStep * e[k];
    b[k] += kStep;
    c[k] += kStep;
    d[k] += kStep;
  }
}

// Reads a, b; writes a, b, c.
ACID_EVERY_PROCESSOR
void read_two_write_two_and_copy(float* __restrict a, float* __restrict b, float* __restrict c,
                                 std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    a[k] += kStep;
    b[k] += kStep;
    c[k] = a[k];
  }
}

/// An event, the loop with its traffic and the tensor operations with its mathematics.
struct Contest {
  const char* what;
  int vectors_moved;  // reads and writes, in vectors
  std::function<void()> event, loop;
  TorchKernels::Operation* tensors;  // absent: not compared
  bool wanted;                       // has a budget
};

std::vector<Contest> contests(Vectors& v, Pair& pair, Pair& adam, std::size_t size,
                              const TorchKernels& torch) {
  return {
      {"mix and apply", 6, [&pair] { pair.apply(); },
       [&v, size] { read_four_write_two(v[0], v[1], v[2], v[3], size); }, torch.mix_and_apply,
       true},
      {"average of two workers", 8, [&pair] { pair.exchange(); },
       [&v, size] { read_four_write_four(v[0], v[1], v[2], v[3], size); }, torch.exchange, true},
      {"mix and SGD with momentum, and snapshot", 8, [&pair] { pair.step(true); },
       [&v, size] { read_four_write_three_and_copy(v[0], v[1], v[2], v[3], v[5], size); },
       torch.mix_and_sgd, true},
      {"mix and Adam", 9, [&adam] { adam.step(false); },
       [&v, size] { read_five_write_four(v[0], v[1], v[2], v[3], v[4], size); }, torch.mix_and_adam,
       false},
      {"mix and offer", 5, [&pair] { pair.offer(); },
       [&v, size] { read_two_write_two_and_copy(v[0], v[1], v[2], size); }, nullptr, false},
  };
}

// 11.2 M parameters exceed every cache.
double wanted_times_tensors(std::size_t size) { return size > 5'000'000 ? 15 : 5; }

void measure(Bench& bench, const Contest& contest, std::size_t size, Vectors& vectors) {
  const double gigabytes = 4e-9 * contest.vectors_moved * static_cast<double>(size);
  const auto speed = [&](std::function<void()> pass) {
    return speed_of_pass(gigabytes, bench.seconds(0.2), std::move(pass));
  };
  const std::string what = fmt::format("{}, {}", contest.what, parameters_text(size));
  std::vector<Bench::Side> sides{speed(contest.event), speed(contest.loop)};
  if (contest.tensors != nullptr)
    sides.push_back(speed([&] { contest.tensors(vectors.all().data(), size); }));
  const auto samples = bench.interleave(what, sides);
  const auto bound = [&](double ratio) {
    return contest.wanted ? std::optional(ratio_at_least(ratio)) : std::nullopt;
  };
  bench.add({what, "GB/s", "loop with its traffic", bound(0.9), samples[0], samples[1]});
  if (contest.tensors == nullptr) return;
  const auto wanted = bound(wanted_times_tensors(size));
  bench.add({what, "GB/s", "LibTorch tensors", wanted, samples[0], samples[2]});
}

// The tensor operations are absent when the module is missing.
TorchKernels load_torch_kernels(Bench& bench) {
  const std::string path = program_folder() + "/acid-bench-torch.so";
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // LibTorch is never unloaded
  void* const make = module == nullptr ? nullptr : dlsym(module, "acid_bench_torch_kernels");
  if (make != nullptr) return *reinterpret_cast<const TorchKernels* (*)()>(make)();
  bench.note("there is no LibTorch to compare with: build with -DACID_WITH_TORCH=ON.");
  return {};
}

}  // namespace

Measure prepare_kernels(CLI::App& app) {
  const auto sizes = add_parameters_option(app);
  return [sizes](Bench& bench) {
    const TorchKernels torch = load_torch_kernels(bench);
    bench.note(fmt::format("the engine's kernels are {}.", cpu_backend().name()));
    if (const std::string_view why = why_interpreted(cpu_backend()); !why.empty())
      bench.note(fmt::format("methods are interpreted: {}.", why));
    for (const std::size_t size : *sizes) {
      Vectors vectors(size);
      Pair pair(size, cpu_backend()), adam(size, cpu_backend(), OptimizerKind::adam);
      for (const Contest& contest : contests(vectors, pair, adam, size, torch))
        measure(bench, contest, size, vectors);
    }
  };
}

}  // namespace acid::bench
