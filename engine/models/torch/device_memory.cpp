#include "engine/models/torch/device_memory.hpp"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace acid {

bool lies_on_device(const float* memory) {
  const at::CUDAHooksInterface& cuda = at::detail::getCUDAHooks();
  void* const address = const_cast<float*>(memory);
  if (cuda.isPinnedPtr(address)) return false;
  try {
    return cuda.getDeviceFromPtr(address).is_cuda();
  } catch (const c10::Error&) {  // LibTorch's way to say that CUDA does not know the address
    return false;
  }
}

void use_own_stream(at::Device device) {
  thread_local bool has_one = false;
  if (has_one) return;
  const c10::impl::VirtualGuardImpl cuda(device.type());
  cuda.setDevice(device);
  cuda.exchangeStream(cuda.getStreamFromGlobalPool(device));
  has_one = true;
}

}  // namespace acid
