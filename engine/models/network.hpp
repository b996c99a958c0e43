#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"

namespace acid {

inline constexpr double kNormEpsilon = 1e-5;  // added to variances by norms

// The operation of one step of a network on a batch of activations. Tensors are given by their
// index in Layout::parameters or Layout::buffers; -1 is no tensor.
struct Linear {  // on the last dimension
  int weight, bias;
};
struct Convolution {
  int weight, bias, stride, padding;
};
/// Ioffe & Szegedy 2015: batch statistics in training, running ones in evaluation. In training
/// running ← (1 − momentum)·running + momentum·batch, with the unbiased batch variance.
struct BatchNorm {
  static constexpr double kMomentum = 0.1;
  int weight, bias, running_mean, running_variance;
};
/// Wu & He 2018, over each example: no running statistics; training and evaluation are alike.
struct GroupNorm {
  int groups, weight, bias;
};
/// EvoNorm-S0 (Liu et al. 2020, arXiv 2004.02967), norm and activation in one, over each example: x
/// · σ(v·x) / √(variance of the channel's group + ε) · weight + bias. The variance is the biased
/// one, that of the values.
struct EvoNorm {
  int groups, weight, bias, v;
};
enum class Activation { relu, tanh, gelu };
struct MaxPool {
  int kernel, stride, padding;
};
struct GlobalAveragePool {};  // (channels, height, width) → (channels)
struct Flatten {};            // (channels, height, width) → (channels · height · width)
/// The parameter-free shortcut of He et al. 2015 (option A): every stride-th pixel of every
/// stride-th row, then zero channels on both sides, the odd one last.
struct PadShortcut {
  int stride, channels_before, channels_after;
};
struct Add {
  int other;  // a value, like Step::input
};
/// Tokens → (rows, positions, width).
struct Embedding {
  int weight;
};
/// Adds row t of the weight at position t.
struct AddPositions {
  int weight;
};
/// Ba et al. 2016, over the last dimension.
struct LayerNorm {
  static constexpr double kEpsilon = 1e-5;
  int weight, bias;
};
/// Vaswani et al. 2017, where position t attends to positions up to t: (rows, positions, 3 ·
/// width), which are queries, keys and values, → (rows, positions, width).
struct CausalAttention {
  int heads;
};
using Operation = std::variant<Linear, Convolution, BatchNorm, GroupNorm, EvoNorm, Activation,
                               MaxPool, GlobalAveragePool, Flatten, PadShortcut, Add, Embedding,
                               AddPositions, LayerNorm, CausalAttention>;

/// One step. Value 0 is the batch of features; value k + 1 is the result of step k.
struct Step {
  Operation operation;
  int input = 0;
  bool in_place = false;     // no later step reads the input, so it may be overwritten
  std::vector<int> expired;  // values that no later step reads
};

/// A feed-forward network without LibTorch: its tensors, and the steps that turn features into
/// logits (the last value), a row for each label. Immutable once built.
struct Network {
  Layout layout;
  std::vector<Step> steps;
};

/// Builds a network step by step; shapes follow from the data's. Tensors are named as in torch:
/// builder.linear("fc", …) makes "fc.weight" and "fc.bias".
class NetworkBuilder {
 public:
  /// The shape of an activation of one example, or of one token of a sequence; flat ones are
  /// (features, 1, 1).
  struct Value {
    int id = 0;
    int channels = 1;
    int height = 1;
    int width = 1;
    bool image = true;  // has height and width, which may be 1
  };

  explicit NetworkBuilder(const DataShape& shape) : shape_(shape) {}
  Value features() const { return {0, shape_.channels, shape_.height, shape_.width}; }

  /// Weight (outputs, inputs) and bias, both U(±1/√fan_in). A value with height and width is
  /// flattened first.
  Value linear(const std::string& name, Value input, int outputs);
  /// Zero padding kernel/2, so stride 1 keeps the size for odd kernels. With a bias: weight and
  /// bias U(±1/√fan_in), torch's default. Without: weight N(0, 2/fan_in).
  Value convolution(const std::string& name, Value input, int channels, int kernel, int stride,
                    bool bias);
  Value batch_norm(const std::string& name, Value input);
  /// Throws UsageError when the channels cannot be divided into groups of one size.
  Value group_norm(const std::string& name, Value input, int groups);
  /// Uses fewer groups when there are fewer channels.
  Value evo_norm(const std::string& name, Value input, int groups);
  Value activation(Value input, Activation kind);
  Value max_pool(Value input, int kernel, int stride);
  Value global_average_pool(Value input);
  Value pad_shortcut(Value input, int channels, int stride);
  Value add(Value input, Value other);

  /// Embeds a sequence's tokens; weight (vocabulary, width), N(0, deviation²), as for all methods
  /// below.
  Value embedding(const std::string& name, int width, double deviation);
  Value add_positions(const std::string& name, Value input, double deviation);
  Value layer_norm(const std::string& name, Value input);
  /// As linear(), with a bias of zeros.
  Value normal_linear(const std::string& name, Value input, int outputs, double deviation);
  /// `input` is the result of a linear layer with 3 · width outputs.
  Value causal_attention(Value input, int heads);
  /// Linear, with the weight of the embedding and no bias (Press & Wolf 2017).
  Value tied_linear(Value input, Value embedding);

  /// The network whose logits are the value made last. Call once.
  Network finish();

 private:
  int parameter(std::string name, std::vector<std::int64_t> shape, Init init, std::int64_t fan_in);
  int normal_parameter(std::string name, std::vector<std::int64_t> shape, double deviation);
  int buffer(std::string name, std::int64_t size, Init init);
  Value step(Operation operation, Value input, Value output);

  DataShape shape_;
  Network network_;
};

/// Throws UsageError unless examples have height and width: convolutions need images.
void require_images(std::string_view model, const DataShape& shape);
/// The value of an "activation" field.
Activation parse_activation(std::string_view name);

}  // namespace acid
