#include "engine/python/shared_memory.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "engine/worker/arena.hpp"
#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("what is written to shared memory is read at its offset through another mapping") {
  const SharedMemory memory;
  Arena<float> small(3, memory), large(100'000, memory);
  small.data()[2] = 4;
  large.data()[99'999] = 5;
  for (Arena<float>* each : {&small, &large}) {
    const auto offset = memory.offset_of(each->data());
    REQUIRE(offset);
    CHECK(*offset % Backend::kAlignment == 0);
    void* const there = mmap(nullptr, memory.bytes(), PROT_READ, MAP_SHARED | MAP_NORESERVE,
                             memory.descriptor(), 0);
    REQUIRE(there != MAP_FAILED);
    const auto* values = reinterpret_cast<const float*>(static_cast<std::byte*>(there) + *offset);
    CHECK(std::equal(values, values + each->size(), each->data()));
    munmap(there, memory.bytes());
  }
  std::vector<float> elsewhere(3);
  CHECK_FALSE(memory.offset_of(elsewhere.data()));
}

TEST_CASE("shared memory that was given back is zero when it is given again") {
  const SharedMemory memory;
  for (const std::size_t size : {1, 64, 1000, 5000}) {
    const float* first = nullptr;
    {
      Arena<float> arena(size, memory);
      first = arena.data();
      std::ranges::fill(arena.span(), 1.0F);
    }
    const Arena<float> again(size, memory);
    CHECK(again.data() == first);
    CHECK(std::ranges::count(again.span(), 0.0F) == static_cast<std::ptrdiff_t>(size));
  }
}
