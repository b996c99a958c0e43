// Counts allocations: training allocates nothing once it is under way.
#include <cstdlib>
#include <new>

#include "tests/data/scratch.hpp"

namespace {
// Counted for the calling thread.
thread_local std::int64_t allocations = 0;
}  // namespace

// Not inline: the compiler would take malloc() and free() for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace acid::testing {

TEST_CASE("Analytic gradients allocate nothing after the first") {
  struct Case {
    const char* task;
    nlohmann::json options;
  };
  const Case cases[] = {
      {"quadratic", {{"dimension", 130}}},
      {"quadratic", {{"dimension", 130}, {"noise", 0.5}, {"heterogeneity", 1.0}}},
      {"logistic", {{"dimension", 9}, {"train", 150}, {"test", 20}}},
  };
  for (const Case& c : cases) {
    INFO(c.task << " " << c.options.dump());
    const AnalyticEntry* entry = find_analytic(c.task);
    const auto objective = entry->make(with_fallbacks(entry->fields, c.options), 2,
                                       /*batch_size=*/70, {{"kind", "shared"}}, 0, Seeds(3), 1);
    std::vector<float> x(objective->dimension()), g(x.size());
    objective->start(0, x, {});
    objective->gradient(0, 0, 0, x, {}, g);
    const std::int64_t before = allocations;
    for (int step = 1; step < 9; ++step) objective->gradient(0, step % 2, step, x, {}, g);
    CHECK(allocations == before);
  }
  const std::int64_t before = allocations;
  // Called as functions, since an expression could be optimised away.
  ::operator delete(::operator new(4));
  CHECK(allocations == before + 1);  // it does count
}

}  // namespace acid::testing
