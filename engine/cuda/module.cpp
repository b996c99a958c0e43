#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/cuda/backend.hpp"
#include "engine/cuda/compiler.hpp"
#include "engine/cuda/device.hpp"
#include "engine/cuda/runtime.hpp"

namespace acid::cuda {
namespace {

std::string hexadecimal(const cudaUUID_t& uuid) {
  std::string text;
  for (const char byte : uuid.bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

nlohmann::json describe(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "describe the device");
  return {{"name", properties.name},
          {"capability", fmt::format("{}.{}", properties.major, properties.minor)},
          {"memory_bytes", properties.totalGlobalMem},
          {"uuid", hexadecimal(properties.uuid)}};
}

class Runtime final : public CudaRuntime {
 public:
  int device_count() override { return cuda::device_count(); }

  const Backend& backend(int device) override {
    choose_device(device);
    return device_backend();
  }

  nlohmann::json environment() override {
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    nlohmann::json result{{"driver", driver == 0 ? "none" : version_text(driver)},
                          {"runtime", version_text(runtime)},
                          {"nvrtc", nvrtc_version().empty() ? "none" : nvrtc_version()},
                          {"devices", nlohmann::json::array()}};
    try {
      const int count = cuda::device_count();
      for (int device = 0; device < count; ++device) result["devices"].push_back(describe(device));
    } catch (const Error& error) {
      result["error"] = error.what();
    }
    return result;
  }

  std::string ptx(const std::string& program, int capability) override {
    return cuda::ptx(program, capability);
  }
};

}  // namespace
}  // namespace acid::cuda

/// The module's only entry point; see load_cuda_runtime().
extern "C" acid::CudaRuntime* acid_cuda_runtime() {
  static acid::cuda::Runtime runtime;
  return &runtime;
}
