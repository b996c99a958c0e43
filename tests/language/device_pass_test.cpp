// Kernels for a device compute what the interpreter computes, bit for bit: their text is compiled
// for the host here. tests/cuda compiles it for devices.
#include "engine/language/device_pass.hpp"

#include "tests/catch.hpp"
#include "tests/language/hosted_kernels.hpp"
#include "tests/language/life.hpp"
#include "tests/language/random_pass.hpp"

using namespace acid;
using namespace acid::test;

namespace {

constexpr std::uint64_t kPasses = 120;

std::vector<Lives> live_all(const Backend& backend) {
  std::vector<Listing> listings = shipped_listings();
  listings.push_back(listing_with_reductions());
  std::vector<Lives> all;
  for (const Listing& listing : listings)
    all.push_back(live(listing, {1, 7, 8, 100, 1024, 2500}, backend));
  return all;
}

// Executes a random event by a kernel, or by the interpreter.
RandomEvent execute(std::uint64_t seed, const Backend& backend) {
  Stream random(seed);
  const Pass pass = random_device_pass(random);
  const std::size_t size = 1 + random.below(3000);
  RandomEvent event(random, size, random.below(2) == 0);
  std::size_t first = 0, last = size;
  if (const std::size_t reductions = reductions_of(pass); reductions > 0) {
    event.sums.resize(reductions);
  } else {
    event.sums.clear();
    first = random.below(size);
    last = first + 1 + random.below(size - first);
  }
  if (backend.compiler() != nullptr)
    DevicePass(backend, pass, 3)
        .run(event.memory, event.numbers, event.decay, first, last, event.sums);
  else
    interpret<float>(pass, event.memory, event.numbers, event.decay, first, last, event.sums);
  return event;
}

}  // namespace

TEST_CASE("kernels for a device do what the interpreter does, compiled for the host", "[release]") {
  for (std::uint64_t seed = 0; seed < kPasses; ++seed) execute(seed, hosted_backend());
  live_all(hosted_backend());  // notes the kernels; they do nothing yet
  CHECK(hosted_kernels().launches() == 0);
  const std::size_t kernels = hosted_kernels().kernels(),
                    programs = hosted_kernels().programs().size();
  hosted_kernels().build();

  for (std::uint64_t seed = 0; seed < kPasses; ++seed) {
    INFO("random pass " << seed);
    CHECK(difference(execute(seed, hosted_backend()), execute(seed, *cpu_backend("baseline"))) ==
          "");
  }
  const auto expected = live_all(*cpu_backend("baseline"));
  for (const bool reaches_all : {false, true}) {  // models are read by way of scratch memory or not
    hosted_kernels().reaches_all = reaches_all;
    const auto lives = live_all(hosted_backend());
    for (std::size_t k = 0; k < lives.size(); ++k) check_same(lives[k], expected[k]);
  }
  hosted_kernels().reaches_all = false;
  CHECK(hosted_kernels().launches() > 1000);
  // All kernels that a run needs were compiled before it began.
  CHECK(hosted_kernels().kernels() == kernels);
  CHECK(hosted_kernels().programs().size() == programs);
}

TEST_CASE("what a kernel has no room for is interpreted") {
  // Cases for the host: more sources than room, and several decays beside a reduction.
  Stream random(5);
  const Operand mean{Operand::Kind::mean, 0}, x{Operand::Kind::state, 0};
  Pass pass{.instructions = {{Operation::norm, 0, x, {}, {}}},
            .stores = {{mean, {Operand::Kind::state, 1}}},
            .has_decay = true};
  RandomEvent event(random, 1500, false);
  event.sums.resize(1);
  RandomEvent expected(event);
  REQUIRE(event.decay.size() > 1);
  const std::size_t before = hosted_kernels().launches();
  DevicePass(hosted_backend(), pass, 3)
      .run(event.memory, event.numbers, event.decay, 0, 1500, event.sums);
  interpret<float>(pass, expected.memory, expected.numbers, expected.decay, 0, 1500, expected.sums);
  CHECK(difference(event, expected) == "");
  CHECK(hosted_kernels().launches() == before);
}
