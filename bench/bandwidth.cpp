#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "bench/repeat.hpp"
#include "engine/base/every_processor.hpp"

namespace acid::bench {
namespace {

ACID_EVERY_PROCESSOR
void scale(float* x, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) x[k] *= 1.0000001f;
}

ACID_EVERY_PROCESSOR
void add_scaled(float* __restrict x, const float* __restrict y, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) x[k] += 1e-9f * y[k];
}

void measure_bandwidth(Bench& bench, std::size_t size) {
  std::vector<float> x(size, 1.0f), y(size, 2.0f);
  const double bytes = 4.0 * static_cast<double>(size);
  const auto gigabytes = [&](int vectors, std::function<void()> pass) {
    return speed_of_pass(1e-9 * bytes * vectors, bench.seconds(0.2), std::move(pass));
  };
  const auto add = [&] { add_scaled(x.data(), y.data(), size); };
  const auto in_place = [&] { scale(x.data(), size); };
  const auto copy = [&] { std::memcpy(x.data(), y.data(), size * sizeof(float)); };
  const auto samples = bench.interleave(
      parameters_text(size), {gigabytes(3, add), gigabytes(2, in_place), gigabytes(2, copy)});
  const std::string of = ", " + parameters_text(size);
  bench.add({"adding in place, x += a·y" + of, "GB/s", "memcpy", {}, samples[0], samples[2]});
  bench.add({"scaling in place, x *= a" + of, "GB/s", "memcpy", {}, samples[1], samples[2]});
}

}  // namespace

Measure prepare_bandwidth(CLI::App& app) {
  const auto sizes = add_parameters_option(app);
  return [sizes](Bench& bench) {
    for (const std::size_t size : *sizes) measure_bandwidth(bench, size);
  };
}

}  // namespace acid::bench
