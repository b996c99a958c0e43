#pragma once

#include <string>

#include "engine/worker/kernel_compiler.hpp"

namespace acid::cuda {

/// NVRTC and the driver, which are looked for at the first use. Kernels are for the chosen device.
const KernelCompiler& kernel_compiler();

/// "13.0"; empty where there is no NVRTC.
std::string nvrtc_version();
/// NVRTC's PTX of a program for devices of this capability (such as 90), or for the newest earlier
/// capability that NVRTC knows. Needs no device. Throws Error.
std::string ptx(const std::string& program, int capability);

}  // namespace acid::cuda
