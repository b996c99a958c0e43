#pragma once

#include <nlohmann/json_fwd.hpp>

#include "engine/worker/backend.hpp"

namespace acid {

/// CUDA in this process; obtained with load_cuda_runtime(). Any thread.
class CudaRuntime {
 public:
  virtual ~CudaRuntime() = default;
  /// How many devices this process sees: at least one. Throws Error that says why there is none
  /// and what to do.
  virtual int device_count() = 0;
  /// Vectors on that device and kernels that run there, each complete when its call returns. A
  /// process uses one device: asking for another one later is an Error, and so are a device that
  /// is not there or that cannot share its memory with the host. Lives until the process ends.
  virtual const Backend& backend(int device) = 0;
  /// {"driver": "13.0", "runtime": "13.0", "nvrtc": "13.0", "devices": [{"name": "NVIDIA H100",
  /// "capability": "9.0", "memory_bytes": 85e9, "uuid": "…"}]}; "error" and no devices where there
  /// is none. `driver` is the latest CUDA that it can run, "none" without one; so is `nvrtc`.
  virtual nlohmann::json environment() = 0;
  /// The kernels of a program in CUDA C++ as devices of this capability, 90 or so, are given them.
  /// No device is needed. Throws Error.
  virtual std::string ptx(const std::string& program, int capability) = 0;
};

/// Loads acid-cuda.so from the folder of the running executable, or from ACID_CUDA_MODULE. It needs
/// no CUDA library to load: whether a driver and a device are there shows in use. Throws Error
/// saying what is missing and how to get it.
CudaRuntime& load_cuda_runtime();

/// The device of a process that is number `local_rank` on its host: they go round.
inline int device_of(int local_rank, int devices) { return local_rank % devices; }

}  // namespace acid
