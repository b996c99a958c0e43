#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/worker/backend.hpp"

namespace acid {

/// CUDA in this process; obtained with load_cuda_runtime(). Any thread.
class CudaRuntime {
 public:
  virtual ~CudaRuntime() = default;
  /// The number of devices that this process sees, at least one. Throws Error that says why there
  /// is none and what to do.
  virtual int device_count() = 0;
  /// Vectors on that device and kernels that run there, each complete when its call returns. A
  /// process uses one device: asking for another later is an Error, as is a device that does not
  /// exist or cannot share its memory with the host. Lives until the process ends.
  virtual const Backend& backend(int device) = 0;
  /// {"driver": "13.0", "runtime": "13.0", "nvrtc": "13.0", "devices": [{"name": "NVIDIA H100",
  /// "capability": "9.0", "memory_bytes": 85e9, "uuid": "…"}]}; "error" instead of devices when
  /// there is none. `driver`: the latest CUDA that the driver can run, "none" without a driver;
  /// `nvrtc`: likewise.
  virtual nlohmann::json environment() = 0;
  /// The PTX of a program in CUDA C++ for devices of this capability (such as 90). Needs no device.
  /// Throws Error.
  virtual std::string ptx(const std::string& program, int capability) = 0;
};

/// Loads acid-cuda.so from the folder of the running executable, or from ACID_CUDA_MODULE. Loading
/// needs no CUDA library: whether a driver and a device are there shows at the first use. Throws
/// Error saying what is missing and how to get it.
CudaRuntime& load_cuda_runtime();

/// The device of the process with number `local_rank` on its host: processes take devices in turn.
inline int device_of(int local_rank, int devices) { return local_rank % devices; }

}  // namespace acid
