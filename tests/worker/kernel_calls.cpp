// Calls each hot kernel once, on vectors of kSize floats, and prints the names of the kernels, one
// per line. `instruction_counts` has callgrind count the instructions of every call.
#include <cstdio>
#include <exception>
#include <vector>

#include "engine/worker/worker.hpp"

using namespace acid;

namespace {

constexpr std::size_t kSize = 16384;

struct Vectors {
  std::vector<float> x = values(1), x_tilde = values(2), snapshot = values(3), g = values(4),
                     m = values(5), v = values(6), own = values(7), partner = values(8);
  static std::vector<float> values(int seed) {
    std::vector<float> list(kSize);
    for (std::size_t k = 0; k < kSize; ++k)
      list[k] = static_cast<float>((k * 37 + static_cast<std::size_t>(seed) * 11) % 101) / 101;
    return list;
  }
  kernels::Mixed<float> mixed() { return {x.data(), x_tilde.data(), 0.1F}; }
};

}  // namespace

// callgrind looks for this function by name.
extern "C" __attribute__((noinline)) void acid_measured(void (*call)(Vectors&), Vectors& vectors) {
  call(vectors);
}

int main() try {
  struct Call {
    const char* name;
    void (*call)(Vectors&);
  };
  static const kernels::Table<float>& table = cpu_backend().kernels<float>();
  const Call calls[] = {
      {"mix", [](Vectors& w) { table.mix(w.mixed(), kSize); }},
      {"mix_and_copy", [](Vectors& w) { table.mix_and_copy(w.mixed(), w.own.data(), kSize); }},
      {"copy_mixed",
       [](Vectors& w) {
         table.copy_mixed(w.x.data(), w.x_tilde.data(), 0.1F, w.own.data(), kSize);
       }},
      {"mix_and_apply",
       [](Vectors& w) {
         table.mix_and_apply(w.mixed(), w.own.data(), w.partner.data(), 0.5F, 1.9F, kSize);
       }},
      {"exchange",
       [](Vectors& w) {
         table.exchange(w.mixed(), {w.own.data(), w.partner.data(), 0.2F}, 0.5F, 1.9F, kSize);
       }},
      {"exchange_without_tilde",
       [](Vectors& w) {
         table.exchange({w.x.data(), nullptr, 0}, {w.own.data(), nullptr, 0}, 0.5F, 0.5F, kSize);
       }},
      {"mix_and_sgd",
       [](Vectors& w) {
         table.mix_and_sgd(w.mixed(), {w.g.data(), w.m.data(), 0.1F, 0.9F, 1e-4F, true},
                           w.snapshot.data(), kSize);
       }},
      {"mix_and_adam",
       [](Vectors& w) {
         table.mix_and_adam(w.mixed(),
                            {w.g.data(), w.m.data(), w.v.data(), 0.1F, 0.9F, 0.999F, 1e-8F, 1e-4F,
                             0.1F, 0.001F, false},
                            w.snapshot.data(), kSize);
       }},
      {"add_scaled", [](Vectors& w) { table.add_scaled(w.x.data(), 0.5F, w.own.data(), kSize); }},
  };
  Vectors vectors;
  for (const Call& call : calls) {
    acid_measured(call.call, vectors);
    std::printf("%s %zu\n", call.name, kSize);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
