// Has two workers of A²CiD², with vectors of kSize floats, do each event once and prints the
// events' names, one per line. `instruction_counts` has callgrind count the instructions of every
// event.
#include <cstdio>
#include <exception>

#include "bench/pair.hpp"

using namespace acid;

namespace {

constexpr std::size_t kSize = 16384;

struct Workers {
  bench::Pair sgd{kSize, cpu_backend()}, adam{kSize, cpu_backend(), OptimizerKind::adam};
  bench::Pair plain{kSize, cpu_backend(), OptimizerKind::sgd, "ad-psgd"};
};

}  // namespace

// callgrind looks for this function by name.
extern "C" __attribute__((noinline)) void acid_measured(void (*call)(Workers&), Workers& workers) {
  call(workers);
}

int main() try {
  struct Call {
    const char* name;
    void (*call)(Workers&);
  };
  const Call calls[] = {
      {"offer", [](Workers& w) { w.sgd.offer(); }},
      {"apply", [](Workers& w) { w.sgd.apply(); }},
      {"exchange", [](Workers& w) { w.sgd.exchange(); }},
      {"exchange_without_tilde", [](Workers& w) { w.plain.exchange(); }},
      {"sgd", [](Workers& w) { w.sgd.step(true); }},
      {"adam", [](Workers& w) { w.adam.step(true); }},
  };
  Workers workers;
  for (const Call& call : calls) call.call(workers);  // makes the code
  for (const Call& call : calls) {
    acid_measured(call.call, workers);
    std::printf("%s %zu\n", call.name, kSize);
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
