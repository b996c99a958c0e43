#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

namespace acid {

/// The operators of a TorchScript file that may draw random numbers, whether forward() reaches them
/// or not; "an operator" when none is known to.
std::string random_operators(const torch::jit::Module& module);

/// Refuses a file with layers whose mode is fixed: torch.jit.trace writes down the mode in which it
/// found them, where torch.jit.script asks for it. UsageError.
void refuse_fixed_modes(const std::string& path, const torch::jit::Module& module);

}  // namespace acid
