// Emitted machine code of a pass computes what the interpreter computes, bit for bit.
#include "engine/language/emitter.hpp"

#include <chrono>
#include <functional>

#include "tests/catch.hpp"
#include "tests/language/random_pass.hpp"
#if defined(ACID_WITH_EMULATOR)
#include "tests/language/emulated_pass.hpp"
#endif

using namespace acid;
using namespace acid::test;

namespace {

using Run = std::function<void(const Pass&, RandomEvent&, std::size_t sources, bool wide,
                               std::size_t first, std::size_t last)>;

void run_here(const Pass& pass, RandomEvent& event, std::size_t sources, bool wide,
              std::size_t first, std::size_t last) {
  const auto emitted = EmittedPass::emit(pass, sources, false, wide);
  REQUIRE(emitted != nullptr);
  emitted->run(event.memory, event.numbers, event.decay, first, last, event.sums);
}

#if defined(ACID_WITH_EMULATOR)
void run_emulated(const Pass& pass, RandomEvent& event, std::size_t sources, bool /*wide*/,
                  std::size_t first, std::size_t last) {
  const auto emulated = EmulatedPass::emit(pass, sources);
  REQUIRE(emulated != nullptr);
  emulated->run(event.memory, event.numbers, event.decay, first, last, event.sums);
}
#endif

bool emits() {
  return cpu_backend("avx2") != nullptr && why_interpreted(*cpu_backend("avx2")).empty();
}

// Compares one pass on vectors of each size: on all elements or, without reductions, on a random
// range.
void compare(std::uint64_t seed, std::size_t most_instructions,
             const std::vector<std::size_t>& sizes, const Run& run = run_here) {
  INFO("seed " << seed);
  Stream random(seed);
  Pass pass = random_pass(random, most_instructions);
  const bool wide = seed % 2 == 1 && cpu_backend("avx512") != nullptr;
  for (Instruction& one : pass.instructions) {
    if (!wide) break;
    if (one.code >= Operation::less && one.code <= Operation::equal) one.code = Operation::minimum;
    if (one.code == Operation::sign) one.code = Operation::absolute;
    if (one.code == Operation::where) one.code = Operation::subtract;
  }
  const std::size_t reductions = reductions_of(pass);
  for (const std::size_t size : sizes) {
    RandomEvent event(random, size, random.below(2) == 0);
    event.sums.resize(reductions);
    std::size_t first = 0, last = size;
    if (reductions == 0 && random.below(2) == 0) {
      first = random.below(size);
      last = first + 1 + random.below(size - first);
    }
    // The code takes the means, or they are taken before.
    const std::size_t sources =
        random.below(2) == 0 ? EmittedPass::sources_of(*event.memory.heard) : 0;
    RandomEvent expected(event);
    interpret<float>(pass, expected.memory, expected.numbers, expected.decay, first, last,
                     expected.sums);
    run(pass, event, sources, wide, first, last);
    INFO("elements " << first << " to " << last << " of " << size);
    const std::string differs = difference(expected, event);
    if (!differs.empty()) FAIL(differs);
  }
}

}  // namespace

TEST_CASE("emitted passes of any kind and length have the interpreter's bits") {
  if (!emits()) return;
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    compare(seed, 20, {1 + seed % 40, 200 + seed % 70});
}

TEST_CASE("emitted passes of many instructions keep what the processor has no register for") {
  if (!emits()) return;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    compare(seed, 300, {1 + seed % 40, 1000 + seed % 50, 2040 + seed % 20});
}

#if defined(ACID_WITH_EMULATOR)
TEST_CASE("code for AArch64 has the interpreter's bits in an emulator of that processor") {
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    compare(seed, 20, {1 + seed % 40, 200 + seed % 70}, run_emulated);
  for (std::uint64_t seed = 400; seed < 430; ++seed)  // more than it has registers for
    compare(seed, 300, {1 + seed % 40, 1000 + seed % 50}, run_emulated);
}
#endif

TEST_CASE("emitted passes have the interpreter's bits for as long as one likes", "[.][fuzz]") {
  if (!emits()) return;
  const auto seconds_ago = [begun = std::chrono::steady_clock::now()] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  };
  const char* const wanted = std::getenv("ACID_FUZZ_SECONDS");
  for (std::uint64_t seed = 1'000'000; seconds_ago() < (wanted == nullptr ? 60 : atof(wanted));
       ++seed)
    compare(seed, 1 + seed % 200, {1 + seed % 40, 1 + seed % 3000});
}
