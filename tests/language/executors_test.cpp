// Workers compute the same with emitted code and with the interpreter, bit for bit.
#include <nlohmann/json.hpp>

#include "engine/language/emitter.hpp"
#include "engine/methods/listed.hpp"
#include "engine/worker/arena.hpp"
#include "tests/catch.hpp"
#include "tests/language/life.hpp"

using namespace acid;
using namespace acid::test;
using nlohmann::json;

namespace {

bool can_compare() {
  return cpu_backend("avx2") != nullptr && why_interpreted(*cpu_backend("avx2")).empty();
}

void compare(const Listing& listing, const std::vector<std::size_t>& sizes) {
  const Lives expected = live(listing, sizes, *cpu_backend("baseline"));
  for (const char* const kernels : {"avx2", "avx512"})
    if (cpu_backend(kernels) != nullptr)
      check_same(live(listing, sizes, *cpu_backend(kernels)), expected);
}

}  // namespace

TEST_CASE("all parts of the listings that are shipped are the same, emitted and interpreted") {
  if (!can_compare()) return;
  std::vector<std::size_t> sizes{255, 256, 257, 1023, 1024, 1025};
  for (std::size_t size = 1; size <= 40; ++size) sizes.push_back(size);
  for (const Listing& listing : shipped_listings()) compare(listing, sizes);
}

TEST_CASE("reductions and conditions are the same, emitted and interpreted") {
  if (!can_compare()) return;
  compare(listing_with_reductions(), {1, 7, 8, 9, 63, 64, 65, 1023, 1024, 1025, 2049, 3000});
}

TEST_CASE("messages so long that they are written past the caches are the same") {
  if (!can_compare()) return;
  constexpr std::size_t kSize = (std::size_t{8} << 20) / sizeof(float) + 16;
  const Arena<float> place(kSize);
  for (const std::size_t vectors : {1u, 2u}) {
    CHECK(EmittedPass::streams(place.data() + 1, kSize, vectors));
    CHECK_FALSE(EmittedPass::streams(place.data(), kSize - 32, vectors));
  }
  CHECK(EmittedPass::streams(place.data(), kSize - 1, 1));
  for (const std::size_t fewer : {1u, 8u})
    CHECK_FALSE(EmittedPass::streams(place.data(), kSize - fewer, 2));
  const AlgorithmEntry& entry = listed_entry(checked({{"name", "says-more"},
                                                      {"keep", {{"y", "x"}}},
                                                      {"send", {"x * 3 - y", "y / 3"}},
                                                      {"hear", "x = mean(0) + mean(1)"}}));
  const Method method = entry.make(with_fallbacks(entry.fields, json::object()), nullptr);
  for (const std::size_t size : {kSize, kSize - 3, kSize - 8}) {
    std::vector<float> start(size);
    for (std::size_t k = 0; k < size; ++k) start[k] = static_cast<float>(k % 1013);
    const auto expected = say(method, start, *cpu_backend("baseline"));
    for (const char* const kernels : {"avx2", "avx512"})
      if (cpu_backend(kernels) != nullptr)
        check_same({{"a message", say(method, start, *cpu_backend(kernels))}},
                   {{"a message", expected}});
  }
  // With next points, from where decay changes on.
  const AlgorithmEntry& a2cid2 = *find_algorithm("a2cid2");
  const Method meets = a2cid2.make(with_fallbacks(a2cid2.fields, {{"eta", 0.3}}), nullptr);
  check_same(live(meets, {}, kSize - 3, cpu_backend()),
             live(meets, {}, kSize - 3, *cpu_backend("baseline")));
}

TEST_CASE("where the last gradient was taken is kept before the next point takes its place") {
  const Listing listing = checked({{"name", "keeps-points"},
                                   {"rate", 1.0},
                                   {"keep", {{"p", 0}}},
                                   {"step", {"p = at", "x = x - lr * u"}},
                                   {"hear", "x = x - 0.5 * (mine(0) - theirs(0))"},
                                   {"model", "p"}});
  const AlgorithmEntry& entry = listed_entry(listing);
  const Method method = entry.make(with_fallbacks(entry.fields, json::object()), nullptr);
  for (const char* const kernels : {"baseline", "avx2"}) {
    if (cpu_backend(kernels) == nullptr) continue;
    CHECK(read_after_a_step(method, {1, 2, 3}, *cpu_backend(kernels)) ==
          std::vector<float>{1, 2, 3});
  }
}
