#include "engine/cuda/geometry.hpp"

#include "engine/cuda/runtime.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

const void* address(std::size_t bytes) {
  return reinterpret_cast<const void*>(std::uintptr_t{0x10000} + bytes);
}

}  // namespace

TEST_CASE("a kernel's vectors are cut into elements, whole packs and elements") {
  for (const std::size_t bytes : {sizeof(float), sizeof(double)})
    for (std::size_t offset = 0; offset < 16; offset += bytes)
      for (std::size_t size = 0; size < 70; ++size) {
        INFO(bytes << "-byte elements, offset " << offset << ", size " << size);
        const std::size_t width = cuda::kAccessBytes / bytes;
        const cuda::Split parts =
            cuda::split(size, bytes, {address(offset), nullptr, address(offset)});
        CHECK(parts.head + parts.packs * width + parts.tail == size);
        if (parts.packs > 0) {
          CHECK((offset + parts.head * bytes) % cuda::kAccessBytes == 0);
          CHECK(parts.head < width);
          CHECK(parts.tail < width);
        } else {
          CHECK(size < 2 * width);
        }
      }
}

TEST_CASE("vectors that are not aligned alike are taken one element at a time") {
  const cuda::Split parts = cuda::split(1000, 4, {address(0), address(4)});
  CHECK(parts.head + parts.tail == 1000);
  CHECK(parts.packs == 0);
  CHECK(cuda::split(1000, 4, {address(0), address(16)}).packs == 250);
}

TEST_CASE("a launch has a thread for every access until the device is full") {
  CHECK(cuda::blocks({0, 0, 0}, 100) == 1);
  CHECK(cuda::blocks({0, 1, 0}, 100) == 1);
  CHECK(cuda::blocks({0, cuda::kThreadsPerBlock, 3}, 100) == 1);
  CHECK(cuda::blocks({0, cuda::kThreadsPerBlock + 1, 0}, 100) == 2);
  CHECK(cuda::blocks({10'000, 0, 0}, 100) == 40);
  CHECK(cuda::blocks({0, std::size_t{1} << 40, 0}, 100) == 100 * cuda::kBlocksPerMultiprocessor);
}

TEST_CASE("the processes of a host take its devices in turn") {
  CHECK(device_of(0, 1) == 0);
  CHECK(device_of(3, 1) == 0);
  CHECK(device_of(3, 4) == 3);
  CHECK(device_of(5, 4) == 1);
}
