#include "engine/cuda/backend.hpp"

#include <cstring>
#include <new>

#include "engine/base/error.hpp"
#include "engine/cuda/compiler.hpp"
#include "engine/cuda/device.hpp"
#include "engine/cuda/kernels.hpp"

namespace acid::cuda {
namespace {

constexpr std::align_val_t kPage{4096};

#if CUDART_VERSION >= 13000
cudaError_t prefer_device(void* memory, std::size_t bytes, int device) {
  return cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation,
                       {cudaMemLocationTypeDevice, device});
}
cudaError_t move_to_device(void* memory, std::size_t bytes, int device) {
  return cudaMemPrefetchAsync(memory, bytes, {cudaMemLocationTypeDevice, device}, 0,
                              cudaStreamPerThread);
}
#else
cudaError_t prefer_device(void* memory, std::size_t bytes, int device) {
  return cudaMemAdvise(memory, bytes, cudaMemAdviseSetPreferredLocation, device);
}
cudaError_t move_to_device(void* memory, std::size_t bytes, int device) {
  return cudaMemPrefetchAsync(memory, bytes, device, cudaStreamPerThread);
}
#endif

// Refuses what does not fit: managed memory could grow beyond the device, but would be very slow.
void require_room(std::size_t bytes) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "tell how much memory is free");
  if (bytes > free)
    throw Error(
        fmt::format("CUDA device {} has {:.1f} of {:.1f} GB of memory left, and the workers' "
                    "vectors need {:.1f} more; use fewer workers or a smaller model or batch",
                    chosen_device(), static_cast<double>(free) * 1e-9,
                    static_cast<double>(total) * 1e-9, static_cast<double>(bytes) * 1e-9));
}

// Pinned memory of the host: transports send from it, and kernels reach it over the bus.
class PinnedBackend final : public Backend {
 public:
  std::string_view name() const override { return "cuda/pinned"; }

  void* allocate(std::size_t bytes) const override {
    use_device();
    void* const memory = ::operator new(bytes, kPage);
    const cudaError_t status =
        cudaHostRegister(memory, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (status != cudaSuccess) ::operator delete(memory, kPage);
    check(status, "pin memory of the host");
    return std::memset(memory, 0, bytes);
  }
  void release(void* memory, std::size_t /*bytes*/) const noexcept override {
    cudaHostUnregister(memory);
    ::operator delete(memory, kPage);
  }

 protected:
  const kernels::Table<float>& floats() const override { return cuda::floats; }
  const kernels::Table<double>& doubles() const override { return cuda::doubles; }
};

class DeviceBackend final : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }

  void* allocate(std::size_t bytes) const override {
    constexpr const char* what = "allocate memory";
    use_device();
    require_room(bytes);
    void* memory = nullptr;
    check(cudaMallocManaged(&memory, bytes), what);
    try {
      check(prefer_device(memory, bytes, chosen_device()), what);
      check(move_to_device(memory, bytes, chosen_device()), what);
      check(cudaMemsetAsync(memory, 0, bytes, cudaStreamPerThread), what);
      wait_for_stream(what);
    } catch (...) {
      cudaFree(memory);
      throw;
    }
    return memory;
  }
  void release(void* memory, std::size_t /*bytes*/) const noexcept override { cudaFree(memory); }

  bool is_host_memory() const override { return false; }
  void gather(const float* x, std::span<const std::size_t> positions, float* out) const override {
    ACID_ASSERT(positions.size() <= kMostGathered, "{} elements", positions.size());
    cuda::gather(x, positions.data(), positions.size(), out);
  }
  const Backend& messages() const override { return messages_; }
  const KernelCompiler* compiler() const override { return &kernel_compiler(); }

 protected:
  const kernels::Table<float>& floats() const override { return cuda::floats; }
  const kernels::Table<double>& doubles() const override { return cuda::doubles; }

 private:
  const PinnedBackend messages_;
};

}  // namespace

const Backend& device_backend() {
  static const DeviceBackend backend;
  return backend;
}

}  // namespace acid::cuda
