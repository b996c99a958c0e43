#pragma once

#include <span>
#include <string>

#include "engine/models/network.hpp"

namespace acid {

/// The network with its tensors as a TorchScript module: the bytes of the file that torch.jit.load
/// reads. ModelRuntime::torchscript() describes the module.
std::string torchscript_file(const Network& network, std::span<const float> parameters,
                             std::span<const float> buffers, const std::string& about);

}  // namespace acid
