#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/models/network.hpp"

namespace acid {

/// How a residual block carries its input across when the output has another shape: options A and B
/// of He et al. 2015, §3.3.
enum class Shortcut {
  pad,         // A: subsampled, with zero channels; no parameters
  projection,  // B: 1 × 1 convolution and batch norm ("downsample.0", "downsample.1")
};

/// The normalisation of activations. EvoNorm replaces a norm and the activation that follows it.
/// Before a sum, EvoNorm is the block's own, and the activation after the sum stays.
struct Norm {
  enum class Kind { batch, group, evo } kind = Kind::batch;
  int groups = 0;

  /// Reads the options of a model that has kNormFields. Throws UsageError for groups of batch norm.
  explicit Norm(const nlohmann::json& options);
  NetworkBuilder::Value after(NetworkBuilder& net, const std::string& name,
                              NetworkBuilder::Value input) const;
  /// The norm together with a ReLU.
  NetworkBuilder::Value activated(NetworkBuilder& net, const std::string& name,
                                  NetworkBuilder::Value input) const;
};

/// conv 3 × 3 – norm – relu – conv 3 × 3 – norm, plus the shortcut, then relu.
NetworkBuilder::Value basic_block(NetworkBuilder& net, const std::string& name,
                                  NetworkBuilder::Value input, int channels, int stride,
                                  Shortcut shortcut, const Norm& norm);

/// conv 1 × 1 – norm – relu – conv 3 × 3 (strided) – norm – relu – conv 1 × 1 to
/// 4 × `channels` – norm, plus the projection, then relu.
NetworkBuilder::Value bottleneck_block(NetworkBuilder& net, const std::string& name,
                                       NetworkBuilder::Value input, int channels, int stride,
                                       const Norm& norm);

/// The first layers of an ImageNet-sized network: "imagenet" is a 7 × 7 convolution of stride 2
/// and a 3 × 3 maximum of stride 2; "cifar" a 3 × 3 convolution of stride 1.
NetworkBuilder::Value residual_stem(NetworkBuilder& net, const std::string& stem, int channels,
                                    const Norm& norm);

/// The fields that choose a Norm, and, first in kResidualFields, residual_stem's `stem`.
inline constexpr Field kNormField = {
    .name = "norm",
    .type = FieldType::text,
    .fallback = "\"batch\"",
    .help =
        "batch norm, group norm or EvoNorm-S0 (2004.02967): of the latter two nothing runs along "
        "with training, so workers with different data share no statistics",
    .choices = "batch,group,evonorm",
    .later = true};
inline constexpr Field kGroupsField = {
    .name = "groups",
    .type = FieldType::integer,
    .fallback = "null",
    .help = "groups of channels; default: 2 with group, 32 with evonorm, at most the channels",
    .minimum = 1,
    .maximum = 4096,
    .later = true};
extern const std::array<Field, 3> kResidualFields;

}  // namespace acid
