#include "engine/cuda/device.hpp"

#include <atomic>

#include "engine/base/error.hpp"
#include "engine/base/mutex.hpp"

namespace acid::cuda {
namespace {

constexpr int kNone = -1;

struct Chosen {
  Mutex mutex;
  std::atomic<int> device{kNone}, multiprocessors{1};
};

Chosen& chosen() {
  static Chosen instance;
  return instance;
}

int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, name, device), "describe the device");
  return value;
}

// Pinned memory, so that kernels write to it directly.
class Bounce {
 public:
  Bounce() {
    check(cudaHostAlloc(&memory_, kBounceBytes, cudaHostAllocPortable | cudaHostAllocMapped),
          "allocate pinned memory");
  }
  ~Bounce() { cudaFreeHost(memory_); }
  Bounce(const Bounce&) = delete;
  Bounce& operator=(const Bounce&) = delete;
  void* memory() const { return memory_; }

 private:
  void* memory_ = nullptr;
};

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(fmt::format("CUDA cannot {}: {} ({})", what, cudaGetErrorString(status),
                          cudaGetErrorName(status)));
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

int device_count() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  std::string why = "no device";
  if (status != cudaSuccess) why = cudaGetErrorString(status);
  if (driver == 0)
    why = "no NVIDIA driver is installed";
  else if (driver < runtime)
    why = fmt::format("the driver is for CUDA {} at most, and acid was built with {}",
                      version_text(driver), version_text(runtime));
  throw Error(
      fmt::format("there is no CUDA device that can be used here: {}; set execution.device = "
                  "\"cpu\", or install a GPU with a driver for CUDA {} (nvidia-smi tells what "
                  "there is) and look at CUDA_VISIBLE_DEVICES",
                  why, version_text(runtime)));
}

void choose_device(int device) {
  MutexLock lock(chosen().mutex);
  const int before = chosen().device.load();
  if (before == device) return;
  if (before != kNone)
    throw Error(fmt::format("this process uses CUDA device {} already, not {}", before, device));
  const int count = device_count();
  if (device < 0 || device >= count)
    throw Error(fmt::format("there is no CUDA device {}: this process sees {}", device, count));
  if (attribute(cudaDevAttrConcurrentManagedAccess, device) == 0)
    throw Error(
        fmt::format("CUDA device {} cannot share memory with the host while it computes (as under "
                    "WSL and on GPUs before Pascal); set execution.device = \"cpu\"",
                    device));
  check(cudaSetDevice(device), "choose the device");
  // Makes a thread that waits for the device sleep instead of spin.
  check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "set up the device");
  chosen().multiprocessors.store(attribute(cudaDevAttrMultiProcessorCount, device));
  chosen().device.store(device);
}

int chosen_device() {
  const int device = chosen().device.load();
  ACID_ASSERT(device != kNone, "device {} used before one was chosen", device);
  return device;
}

int multiprocessors() { return chosen().multiprocessors.load(); }

void use_device() {
  thread_local bool bound = false;
  if (bound) return;
  check(cudaSetDevice(chosen_device()), "use the device");
  bound = true;
}

void wait_for_stream(const char* what) { check(cudaStreamSynchronize(cudaStreamPerThread), what); }

bool is_plain_host_memory(const void* address) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, address), "tell where a vector lies");
  return attributes.type == cudaMemoryTypeUnregistered;
}

void* bounce_buffer() {
  use_device();
  thread_local const Bounce bounce;
  return bounce.memory();
}

}  // namespace acid::cuda
