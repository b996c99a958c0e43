#include "engine/models/torch/forward.hpp"

#include <c10/util/SmallVector.h>

#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

/// Runs one step at a time; operator() is one overload per Operation.
class Interpreter {
 public:
  Interpreter(const std::vector<at::Tensor>& parameters, const std::vector<at::Tensor>& buffers,
              bool training)
      : parameters_(parameters), buffers_(buffers), training_(training) {}

  at::Tensor run(const Network& network, const at::Tensor& features) {
    values_.push_back(features);
    for (const Step& step : network.steps) {
      input_ = values_[static_cast<std::size_t>(step.input)];
      in_place_ = step.in_place;
      values_.push_back(std::visit(*this, step.operation));
      for (const int value : step.expired) values_[static_cast<std::size_t>(value)].reset();
    }
    return values_.back();
  }

  at::Tensor operator()(const Linear& linear) const {
    return at::linear(input_, parameter(linear.weight), parameter(linear.bias));
  }

  at::Tensor operator()(const Convolution& convolution) const {
    return at::conv2d(input_, parameter(convolution.weight), parameter(convolution.bias),
                      {convolution.stride, convolution.stride},
                      {convolution.padding, convolution.padding});
  }

  at::Tensor operator()(const BatchNorm& norm) const {
    if (training_ && input_.numel() == input_.size(1))
      throw UsageError(
          "a batch norm of the model has one value per channel, which has no variance: use a "
          "larger "
          "task.batch_size, larger images, or norm = \"group\"");
    return at::batch_norm(input_, parameter(norm.weight), parameter(norm.bias),
                          buffers_[static_cast<std::size_t>(norm.running_mean)],
                          buffers_[static_cast<std::size_t>(norm.running_variance)], training_,
                          BatchNorm::kMomentum, kNormEpsilon, /*cudnn_enabled=*/true);
  }

  at::Tensor operator()(const GroupNorm& norm) const {
    return at::group_norm(input_, norm.groups, parameter(norm.weight), parameter(norm.bias),
                          kNormEpsilon);
  }

  at::Tensor operator()(const EvoNorm& norm) const {
    const auto of_channels = [&](int index) { return parameter(index).reshape({1, -1, 1, 1}); };
    const at::Tensor variance = at::var(input_.reshape({input_.size(0), norm.groups, -1}), {2},
                                        /*unbiased=*/false, /*keepdim=*/true);
    const at::Tensor deviation = at::sqrt(variance + kNormEpsilon)
                                     .repeat_interleave(input_.size(1) / norm.groups, 1)
                                     .reshape({input_.size(0), -1, 1, 1});
    return input_ * at::sigmoid(input_ * of_channels(norm.v)) / deviation *
               of_channels(norm.weight) +
           of_channels(norm.bias);
  }

  at::Tensor operator()(Activation activation) {
    switch (activation) {
      case Activation::relu:
        return in_place_ ? at::relu_(input_) : at::relu(input_);
      case Activation::tanh:
        return in_place_ ? at::tanh_(input_) : at::tanh(input_);
      case Activation::gelu:
        return at::gelu(input_);
    }
    return {};
  }

  at::Tensor operator()(const MaxPool& pool) const {
    return at::max_pool2d(input_, {pool.kernel, pool.kernel}, {pool.stride, pool.stride},
                          {pool.padding, pool.padding});
  }

  at::Tensor operator()(const GlobalAveragePool& /*pool*/) const { return input_.mean({2, 3}); }

  at::Tensor operator()(const Flatten& /*flatten*/) const { return input_.flatten(1); }

  at::Tensor operator()(const PadShortcut& shortcut) const {
    const at::Tensor kept = input_.slice(2, 0, input_.size(2), shortcut.stride)
                                .slice(3, 0, input_.size(3), shortcut.stride);
    return at::constant_pad_nd(kept,
                               {0, 0, 0, 0, shortcut.channels_before, shortcut.channels_after});
  }

  at::Tensor operator()(const Add& add) {
    const at::Tensor& other = values_[static_cast<std::size_t>(add.other)];
    return in_place_ ? input_.add_(other) : at::add(input_, other);
  }

  at::Tensor operator()(const Embedding& embedding) const {
    return at::embedding(parameter(embedding.weight), input_.flatten(1).to(at::kLong));
  }

  at::Tensor operator()(const AddPositions& add) const {
    return at::add(input_, parameter(add.weight).slice(0, 0, input_.size(1)));
  }

  at::Tensor operator()(const LayerNorm& norm) const {
    return at::layer_norm(input_, {input_.size(-1)}, parameter(norm.weight), parameter(norm.bias),
                          LayerNorm::kEpsilon);
  }

  at::Tensor operator()(const CausalAttention& attention) const {
    const std::int64_t rows = input_.size(0), positions = input_.size(1);
    const std::int64_t per_head = input_.size(2) / 3 / attention.heads;
    const at::Tensor split =
        input_.reshape({rows, positions, 3, attention.heads, per_head}).permute({2, 0, 3, 1, 4});
    const at::Tensor queries = split[0] * (1 / std::sqrt(static_cast<double>(per_head)));
    const at::Tensor scores = at::matmul(queries, split[1].transpose(2, 3));
    const at::Tensor future =
        at::ones({positions, positions}, input_.options().dtype(at::kBool)).triu(1);
    const at::Tensor weights =
        at::softmax(scores.masked_fill(future, -std::numeric_limits<double>::infinity()), 3);
    return at::matmul(weights, split[2]).transpose(1, 2).reshape({rows, positions, -1});
  }

 private:
  /// An undefined tensor, LibTorch's "none", for index -1.
  at::Tensor parameter(int index) const {
    return index < 0 ? at::Tensor() : parameters_[static_cast<std::size_t>(index)];
  }

  const std::vector<at::Tensor>& parameters_;
  const std::vector<at::Tensor>& buffers_;
  const bool training_;
  c10::SmallVector<at::Tensor, 256> values_;  // large enough for every catalogued model
  at::Tensor input_;
  bool in_place_ = false;
};

}  // namespace

at::Tensor forward(const Network& network, const std::vector<at::Tensor>& parameters,
                   const std::vector<at::Tensor>& buffers, const at::Tensor& features,
                   bool training) {
  return Interpreter(parameters, buffers, training).run(network, features);
}

}  // namespace acid
