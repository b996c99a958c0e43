// Methods' kernels are accepted by NVRTC; tests/language tests what they compute.
#include "engine/cuda/runtime.hpp"
#include "engine/language/device_pass.hpp"
#include "tests/catch.hpp"
#include "tests/language/hosted_kernels.hpp"
#include "tests/language/life.hpp"
#include "tests/language/random_pass.hpp"

using namespace acid;
using namespace acid::test;

TEST_CASE("all parts of all listings, and random passes, compile for devices") {
  CudaRuntime* runtime = nullptr;
  try {
    runtime = &load_cuda_runtime();
    runtime->ptx("", 90);
  } catch (const Error& missing) {
    WARN("skipped: " << missing.what());
    return;
  }
  std::vector<Pass> passes;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Stream random(seed);
    passes.push_back(random_device_pass(random));
  }
  DevicePass::prepare(hosted_backend(), passes, 3);
  std::vector<Listing> listings = shipped_listings();
  listings.push_back(listing_with_reductions());
  for (const Listing& listing : listings) live(listing, {3}, hosted_backend());
  REQUIRE(hosted_kernels().programs().size() > listings.size());
  for (const std::string& program : hosted_kernels().programs()) {
    const std::string ptx = runtime->ptx(program, 90);
    CHECK(ptx.find(".target sm_90") != std::string::npos);
    CHECK(ptx.find(".entry acid_kernel_0") != std::string::npos);
    // Instructions that round two operations once, flush to zero or approximate.
    for (const char* const other : {"fma.", ".ftz", ".approx"})
      CHECK(ptx.find(other) == std::string::npos);
  }
}

TEST_CASE("kernels are for the newest devices that NVRTC knows, and their faults are told") {
  CudaRuntime* runtime = nullptr;
  try {
    runtime = &load_cuda_runtime();
    runtime->ptx("", 90);
  } catch (const Error& missing) {
    WARN("skipped: " << missing.what());
    return;
  }
  CHECK(runtime->environment().at("nvrtc").get<std::string>().find('.') != std::string::npos);
  CHECK(runtime->ptx("", 9999).find(".target sm_1") != std::string::npos);
  CHECK(runtime->ptx("", 91).find(".target sm_90") != std::string::npos);
  CHECK_THROWS_WITH(runtime->ptx("kernel", 90), ContainsSubstring("NVRTC cannot compile"));
}
