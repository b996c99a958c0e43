#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "engine/models/network.hpp"

namespace acid {

/// Runs the network's steps on a batch (rows × channels × height × width) and returns the logits
/// (rows × classes, for sequences rows × positions × classes). Tensors are in the order of the
/// layout. With `training`, batch norm uses the statistics of the batch and updates `buffers` in
/// place. Records the autograd graph if the calling thread does.
at::Tensor forward(const Network& network, const std::vector<at::Tensor>& parameters,
                   const std::vector<at::Tensor>& buffers, const at::Tensor& features,
                   bool training);

}  // namespace acid
