#include "engine/cuda/runtime.hpp"

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/transport/device_link.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

bool is_built(const char* module) {
  return std::filesystem::exists(std::filesystem::path(BINARY_ROOT) / module);
}

}  // namespace

TEST_CASE("a module that is not there is named, with what to do") {
  setenv("ACID_CUDA_MODULE", "/nowhere/acid-cuda.so", 1);
  CHECK_THROWS_WITH(load_cuda_runtime(), ContainsSubstring("/nowhere/acid-cuda.so") &&
                                             ContainsSubstring("acid_programs") &&
                                             ContainsSubstring("execution.device = \"cpu\""));
  unsetenv("ACID_CUDA_MODULE");
  setenv("ACID_NCCL_MODULE", "/nowhere/acid-nccl.so", 1);
  CHECK_THROWS_WITH(load_nccl_runtime(),
                    ContainsSubstring("/nowhere/acid-nccl.so") && ContainsSubstring("libnccl"));
  unsetenv("ACID_NCCL_MODULE");
}

TEST_CASE("the CUDA module loads without a driver and says what this machine has") {
  if (!is_built("acid-cuda.so")) {
    CHECK_THROWS_WITH(load_cuda_runtime(), ContainsSubstring("there is the CUDA toolkit"));
    return;
  }
  CudaRuntime& runtime = load_cuda_runtime();
  const nlohmann::json environment = runtime.environment();
  CHECK(environment.at("runtime").get<std::string>().find('.') != std::string::npos);
  if (environment.contains("error")) {
    CHECK(environment.at("devices").empty());
    CHECK_THROWS_WITH(runtime.device_count(), ContainsSubstring("there is no CUDA device") &&
                                                  ContainsSubstring("execution.device = \"cpu\"") &&
                                                  ContainsSubstring("nvidia-smi"));
    CHECK_THROWS_AS(runtime.backend(0), Error);
    return;
  }
  const int count = runtime.device_count();
  CHECK(environment.at("devices").size() == static_cast<std::size_t>(count));
  CHECK_THROWS_WITH(runtime.backend(count), ContainsSubstring("there is no CUDA device"));
}

TEST_CASE("the NCCL module says which library it found, or that there is none") {
  if (!is_built("acid-nccl.so")) {
    CHECK_THROWS_WITH(load_nccl_runtime(), ContainsSubstring("NCCL (libnccl2, libnccl-dev)"));
    return;
  }
  try {
    CHECK(load_nccl_runtime().version().front() == '2');
  } catch (const Error& missing) {  // built elsewhere, and the library is missing here
    CHECK_THAT(missing.what(), ContainsSubstring("libnccl"));
  }
}
