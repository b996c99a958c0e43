#include "engine/models/torch/speed.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/models/torch/threads.hpp"

namespace acid {
namespace {

constexpr std::int64_t kSize = 256;  // rows and columns; all three matrices fit into a core's cache

/// Processor time of the calling thread, so that other programs on the core do not count.
double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class F>
double seconds_of(F&& f) {
  const double start = cpu_seconds();
  f();
  return cpu_seconds() - start;
}

/// c = a b, written simply; the compiler does the rest.
void plain_product(const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < kSize; ++i) {
    float* row = c + i * kSize;
    std::fill_n(row, kSize, 0.0F);
    for (std::int64_t k = 0; k < kSize; ++k) {
      const float factor = a[i * kSize + k];
      for (std::int64_t j = 0; j < kSize; ++j) row[j] += factor * b[k * kSize + j];
    }
  }
}

}  // namespace

nlohmann::json library_speed() {
  try {
    pin_library_threads(1);
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
  const c10::InferenceMode inference;
  const at::Tensor a = at::full({kSize, kSize}, 0.5F), b = at::full({kSize, kSize}, 0.25F);
  at::Tensor product = at::empty({kSize, kSize}), loop = at::empty({kSize, kSize});
  // The best of several rounds, in turns: a disturbance can only make a round slower.
  double product_seconds = std::numeric_limits<double>::infinity(), loop_seconds = product_seconds;
  for (int round = 0; round < 7; ++round) {
    product_seconds = std::min(product_seconds, seconds_of([&] { at::mm_out(product, a, b); }));
    loop_seconds =
        std::min(loop_seconds, seconds_of([&] {
                   plain_product(a.data_ptr<float>(), b.data_ptr<float>(), loop.data_ptr<float>());
                 }));
  }
  constexpr double kOperations = 2.0 * kSize * kSize * kSize;
  return {{"product_flops_per_second", kOperations / product_seconds},
          {"loop_flops_per_second", kOperations / loop_seconds}};
}

}  // namespace acid
