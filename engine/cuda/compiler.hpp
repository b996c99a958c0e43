#pragma once

#include <string>

#include "engine/worker/kernel_compiler.hpp"

namespace acid::cuda {

/// NVRTC and the driver, both found when they are first needed. Kernels are for the chosen device.
const KernelCompiler& kernel_compiler();

/// "13.0"; empty where there is no NVRTC.
std::string nvrtc_version();
/// What NVRTC makes of a program for devices of this capability, 90 or so, or for the newest before
/// it that it knows. Needs no device. Throws Error.
std::string ptx(const std::string& program, int capability);

}  // namespace acid::cuda
