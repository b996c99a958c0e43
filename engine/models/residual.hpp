#pragma once

#include <string>

#include "engine/models/network.hpp"

namespace acid {

/// How a residual block whose output differs in shape from its input carries the input across:
/// options A and B of He et al. 2015, §3.3.
enum class Shortcut {
  pad,         // A: subsampled, with zero channels; no parameters
  projection,  // B: 1 × 1 convolution and batch norm ("downsample.0", "downsample.1")
};

/// conv 3 × 3 – norm – relu – conv 3 × 3 – norm, plus the shortcut, then relu.
NetworkBuilder::Value basic_block(NetworkBuilder& net, const std::string& name,
                                  NetworkBuilder::Value input, int channels, int stride,
                                  Shortcut shortcut);

/// conv 1 × 1 – norm – relu – conv 3 × 3 (strided) – norm – relu – conv 1 × 1 to
/// 4 × `channels` – norm, plus the projection, then relu.
NetworkBuilder::Value bottleneck_block(NetworkBuilder& net, const std::string& name,
                                       NetworkBuilder::Value input, int channels, int stride);

/// The first layers of an ImageNet-sized network: "imagenet" is a 7 × 7 convolution of stride 2
/// and a 3 × 3 maximum of stride 2; "cifar" a 3 × 3 convolution of stride 1.
NetworkBuilder::Value residual_stem(NetworkBuilder& net, const std::string& stem, int channels);

/// The field that chooses residual_stem's `stem`.
extern const Field kStemField;

}  // namespace acid
