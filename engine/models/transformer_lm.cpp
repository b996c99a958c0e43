#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/models/network.hpp"

namespace acid {
namespace {

constexpr Field kTransformerFields[] = {
    {.name = "layers",
     .type = FieldType::integer,
     .fallback = "2",
     .help = "blocks of attention and of two fully connected layers",
     .minimum = 1,
     .maximum = 1000},
    {.name = "width",
     .type = FieldType::integer,
     .fallback = "64",
     .help = "features of a token; four times as many between the fully connected layers",
     .minimum = 1,
     .maximum = 65536},
    {.name = "heads",
     .type = FieldType::integer,
     .fallback = "4",
     .help = "attention heads, which share the width",
     .minimum = 1,
     .maximum = 65536},
};

/// GPT-2 (Radford et al. 2019) without dropout: LayerNorm before attention and MLP, and at the end;
/// learned positions; logits by the embedding's weight. All weights start as N(0, 0.02²); those of
/// the layers that end a residual branch are divided by √(2 · layers). Names are those in
/// Karpathy's nanoGPT.
Network build_transformer_lm(const nlohmann::json& options, const DataShape& shape) {
  const int layers = static_cast<int>(integer(options, "layers"));
  const int width = static_cast<int>(integer(options, "width"));
  const int heads = static_cast<int>(integer(options, "heads"));
  if (width % heads != 0)
    throw UsageError(fmt::format(
        "{} heads cannot share a width of {}: let task.model.width be a multiple of heads", heads,
        width));
  constexpr double kDeviation = 0.02;
  const double last = kDeviation / std::sqrt(2.0 * layers);
  NetworkBuilder net(shape);
  const NetworkBuilder::Value embedded = net.embedding("wte", width, kDeviation);
  NetworkBuilder::Value value = net.add_positions("wpe", embedded, kDeviation);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = fmt::format("h.{}.", layer);
    NetworkBuilder::Value branch = net.layer_norm(name + "ln_1", value);
    branch = net.normal_linear(name + "attn.c_attn", branch, 3 * width, kDeviation);
    branch = net.causal_attention(branch, heads);
    branch = net.normal_linear(name + "attn.c_proj", branch, width, last);
    value = net.add(branch, value);
    branch = net.layer_norm(name + "ln_2", value);
    branch = net.normal_linear(name + "mlp.c_fc", branch, 4 * width, kDeviation);
    branch = net.activation(branch, Activation::gelu);
    branch = net.normal_linear(name + "mlp.c_proj", branch, width, last);
    value = net.add(branch, value);
  }
  net.tied_linear(net.layer_norm("ln_f", value), embedded);
  return net.finish();
}

}  // namespace

ModelEntry transformer_lm_model() {
  return {.name = "transformer-lm",
          .summary = "a decoder-only transformer, as GPT-2, that predicts each next token",
          .fields = kTransformerFields,
          .build = &build_transformer_lm,
          .tokens = true};
}

}  // namespace acid
