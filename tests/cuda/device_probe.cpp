// Ends with 0 if there is a CUDA device that acid can use; otherwise says why not and ends with 77,
// which ctest reads as "skipped".
#include <cstdio>

#include "engine/base/error.hpp"
#include "engine/cuda/runtime.hpp"

int main() {
  try {
    acid::load_cuda_runtime().backend(0);
    return 0;
  } catch (const acid::Error& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
}
