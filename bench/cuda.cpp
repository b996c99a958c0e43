// Measures kernels and many workers on a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "bench/commands.hpp"
#include "bench/engine_run.hpp"
#include "bench/options.hpp"
#include "bench/pair.hpp"
#include "bench/repeat.hpp"
#include "engine/base/error.hpp"
#include "engine/cuda/runtime.hpp"

namespace acid::bench {
namespace {

constexpr double kKernelShare = 0.85;  // of the copy's bandwidth
// So long that what it costs to begin a copy and to wait for it does not count.
constexpr std::size_t kCopied = std::size_t{1} << 28;

// GB/s of a pass that moves this many bytes, by the wall clock, since the processor sleeps
// meanwhile.
Sample bandwidth_of(double seconds, double bytes, const std::function<void()>& pass) {
  pass();
  std::int64_t calls = 0;
  const Stopwatch watch;
  do {
    pass();
    ++calls;
  } while (watch.seconds() < seconds);
  return {1e-9 * bytes * static_cast<double>(calls) / watch.seconds()};
}

void measure_kernels(Bench& bench, const Backend& backend, std::size_t size) {
  Arena<float> x(kCopied, backend), out(kCopied, backend);
  Pair pair(size, backend);
  const auto moving = [&](std::size_t floats, const std::function<void()>& pass) -> Bench::Side {
    const double bytes = 4.0 * static_cast<double>(floats);
    return [&bench, bytes, pass] { return bandwidth_of(bench.seconds(0.2), bytes, pass); };
  };
  const auto samples = bench.interleave(
      "kernels on the device, " + parameters_text(size),
      {moving(2 * kCopied, [&] { backend.kernels<float>().copy(x.data(), out.data(), kCopied); }),
       moving(6 * size, [&] { pair.apply(); }), moving(8 * size, [&] { pair.exchange(); }),
       moving(8 * size, [&] { pair.step(true); })});
  constexpr const char* kNames[] = {"", "mix and apply", "average of two workers",
                                    "mix and SGD with momentum, and snapshot"};
  for (std::size_t k = 1; k < samples.size(); ++k)
    bench.add({fmt::format("CUDA: {}, {}", kNames[k], parameters_text(size)), "GB/s",
               "the device's copy of 1 GiB", ratio_at_least(kKernelShare), samples[k], samples[0]});
}

void measure_workers(Bench& bench, int workers, std::int64_t gradients) {
  EngineRun run{.dataset = "\"glyphs\"",
                .model = "\"resnet18\"",
                .workers = workers,
                .algorithm = "ad-psgd",
                .device = "cuda"};
  const auto many = compose_run(run);
  run.workers = 1;
  run.rate = 0;
  const auto one = compose_run(run);
  bench.compare(
      {fmt::format("CUDA: ResNet-18, batch 128, n = {} on one GPU, r = 1", workers), "gradients/s",
       "one worker"},
      [&] { return engine_round(*many, gradients); },
      [&] { return engine_round(*one, gradients); });
}

}  // namespace

Measure prepare_cuda(CLI::App& app) {
  const auto sizes = add_parameters_option(app);
  const auto workers = add_option(app, "--workers", 16, "Workers on the GPU", CLI::Range(2, 1024));
  const auto gradients =
      add_option(app, "--gradients", std::int64_t{256},
                 "Gradients of a round, of all workers together", CLI::Range(32, 1'000'000));
  return [sizes, workers, gradients](Bench& bench) {
    const Backend* backend = nullptr;
    try {
      backend = &load_cuda_runtime().backend(0);
    } catch (const Error& error) {
      return bench.note(fmt::format("No CUDA device: {}.", error.what()));
    }
    for (const std::size_t size : *sizes) measure_kernels(bench, *backend, size);
    try {
      measure_workers(bench, *workers, *gradients);
    } catch (const Error& error) {  // LibTorch without CUDA
      bench.note(fmt::format("No gradients on the GPU: {}.", error.what()));
    }
  };
}

}  // namespace acid::bench
