#include "engine/models/network.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

void append(std::vector<LayoutTensor>& tensors, std::string name, std::vector<std::int64_t> shape,
            Init init, std::int64_t fan_in) {
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  const std::int64_t offset =
      tensors.empty() ? 0 : tensors.back().segment.offset + tensors.back().segment.size;
  tensors.push_back({{std::move(name), std::move(shape), offset, size}, init, fan_in});
}

int pooled(int extent, int kernel, int stride) {
  return (extent + 2 * (kernel / 2) - kernel) / stride + 1;
}

void require_groups(int channels, int groups) {
  if (channels % groups != 0)
    throw UsageError(fmt::format(
        "{} channels cannot be divided into {} groups of one size; use groups = 2, 4 or 8",
        channels, groups));
}

/// Operations that write a fresh result and whose gradient does not need it: the last reader of
/// such a value may overwrite it.
bool result_is_disposable(const Operation& operation) {
  return std::holds_alternative<Linear>(operation) ||
         std::holds_alternative<Convolution>(operation) ||
         std::holds_alternative<BatchNorm>(operation) ||
         std::holds_alternative<GroupNorm>(operation) || std::holds_alternative<Add>(operation);
}

}  // namespace

int NetworkBuilder::parameter(std::string name, std::vector<std::int64_t> shape, Init init,
                              std::int64_t fan_in) {
  append(network_.layout.parameters, std::move(name), std::move(shape), init, fan_in);
  return static_cast<int>(network_.layout.parameters.size()) - 1;
}

int NetworkBuilder::normal_parameter(std::string name, std::vector<std::int64_t> shape,
                                     double deviation) {
  const int index = parameter(std::move(name), std::move(shape), Init::normal, 1);
  network_.layout.parameters.back().deviation = deviation;
  return index;
}

int NetworkBuilder::buffer(std::string name, std::int64_t size, Init init) {
  append(network_.layout.buffers, std::move(name), {size}, init, 1);
  return static_cast<int>(network_.layout.buffers.size()) - 1;
}

NetworkBuilder::Value NetworkBuilder::step(Operation operation, Value input, Value output) {
  network_.steps.push_back({operation, input.id, false, {}});
  output.id = static_cast<int>(network_.steps.size());
  return output;
}

NetworkBuilder::Value NetworkBuilder::linear(const std::string& name, Value input, int outputs) {
  const int inputs = input.channels * input.height * input.width;
  if (input.image) input = step(Flatten{}, input, {0, inputs, 1, 1, false});
  const int weight = parameter(name + ".weight", {outputs, inputs}, Init::linear_uniform, inputs);
  const int bias = parameter(name + ".bias", {outputs}, Init::linear_uniform, inputs);
  return step(Linear{weight, bias}, input, {0, outputs, 1, 1, false});
}

NetworkBuilder::Value NetworkBuilder::convolution(const std::string& name, Value input,
                                                  int channels, int kernel, int stride, bool bias) {
  const std::int64_t fan_in = std::int64_t{input.channels} * kernel * kernel;
  const Init init = bias ? Init::linear_uniform : Init::kaiming_normal;
  Convolution operation{-1, -1, stride, kernel / 2};
  operation.weight =
      parameter(name + ".weight", {channels, input.channels, kernel, kernel}, init, fan_in);
  if (bias) operation.bias = parameter(name + ".bias", {channels}, init, fan_in);
  return step(
      operation, input,
      {0, channels, pooled(input.height, kernel, stride), pooled(input.width, kernel, stride)});
}

NetworkBuilder::Value NetworkBuilder::batch_norm(const std::string& name, Value input) {
  const std::int64_t channels = input.channels;
  const int weight = parameter(name + ".weight", {channels}, Init::ones, 1);
  const int bias = parameter(name + ".bias", {channels}, Init::zeros, 1);
  const int mean = buffer(name + ".running_mean", channels, Init::zeros);
  const int variance = buffer(name + ".running_var", channels, Init::ones);
  return step(BatchNorm{weight, bias, mean, variance}, input, input);
}

NetworkBuilder::Value NetworkBuilder::group_norm(const std::string& name, Value input, int groups) {
  require_groups(input.channels, groups);
  const int weight = parameter(name + ".weight", {input.channels}, Init::ones, 1);
  const int bias = parameter(name + ".bias", {input.channels}, Init::zeros, 1);
  return step(GroupNorm{groups, weight, bias}, input, input);
}

NetworkBuilder::Value NetworkBuilder::evo_norm(const std::string& name, Value input, int groups) {
  groups = std::min(groups, input.channels);
  require_groups(input.channels, groups);
  const int weight = parameter(name + ".weight", {input.channels}, Init::ones, 1);
  const int bias = parameter(name + ".bias", {input.channels}, Init::zeros, 1);
  const int v = parameter(name + ".v", {input.channels}, Init::ones, 1);
  return step(EvoNorm{groups, weight, bias, v}, input, input);
}

NetworkBuilder::Value NetworkBuilder::activation(Value input, Activation kind) {
  return step(kind, input, input);
}

NetworkBuilder::Value NetworkBuilder::max_pool(Value input, int kernel, int stride) {
  return step(MaxPool{kernel, stride, kernel / 2}, input,
              {0, input.channels, pooled(input.height, kernel, stride),
               pooled(input.width, kernel, stride)});
}

NetworkBuilder::Value NetworkBuilder::global_average_pool(Value input) {
  return step(GlobalAveragePool{}, input, {0, input.channels, 1, 1, false});
}

NetworkBuilder::Value NetworkBuilder::pad_shortcut(Value input, int channels, int stride) {
  const int added = channels - input.channels;
  ACID_ASSERT(added >= 0, "a shortcut from {} to {} channels", input.channels, channels);
  return step(PadShortcut{stride, added / 2, added - added / 2}, input,
              {0, channels, pooled(input.height, 1, stride), pooled(input.width, 1, stride)});
}

NetworkBuilder::Value NetworkBuilder::add(Value input, Value other) {
  ACID_ASSERT(input.channels == other.channels && input.height == other.height &&
                  input.width == other.width,
              "adding ({}, {}, {}) and ({}, {}, {})", input.channels, input.height, input.width,
              other.channels, other.height, other.width);
  return step(Add{other.id}, input, input);
}

NetworkBuilder::Value NetworkBuilder::embedding(const std::string& name, int width,
                                                double deviation) {
  ACID_ASSERT(shape_.tokens, "an embedding of numbers");
  const int weight = normal_parameter(name + ".weight", {shape_.classes, width}, deviation);
  return step(Embedding{weight}, features(), {0, width, 1, 1});
}

NetworkBuilder::Value NetworkBuilder::add_positions(const std::string& name, Value input,
                                                    double deviation) {
  const int weight = normal_parameter(name + ".weight", {shape_.width, input.channels}, deviation);
  return step(AddPositions{weight}, input, input);
}

NetworkBuilder::Value NetworkBuilder::layer_norm(const std::string& name, Value input) {
  const int weight = parameter(name + ".weight", {input.channels}, Init::ones, 1);
  const int bias = parameter(name + ".bias", {input.channels}, Init::zeros, 1);
  return step(LayerNorm{weight, bias}, input, input);
}

NetworkBuilder::Value NetworkBuilder::normal_linear(const std::string& name, Value input,
                                                    int outputs, double deviation) {
  const int weight = normal_parameter(name + ".weight", {outputs, input.channels}, deviation);
  const int bias = parameter(name + ".bias", {outputs}, Init::zeros, 1);
  return step(Linear{weight, bias}, input, {0, outputs, 1, 1});
}

NetworkBuilder::Value NetworkBuilder::causal_attention(Value input, int heads) {
  ACID_ASSERT(heads > 0 && input.channels % (3 * heads) == 0, "{} heads on {}", heads,
              input.channels);
  return step(CausalAttention{heads}, input, {0, input.channels / 3, 1, 1});
}

NetworkBuilder::Value NetworkBuilder::tied_linear(Value input, Value embedding) {
  const Operation& made = network_.steps.at(static_cast<std::size_t>(embedding.id) - 1).operation;
  ACID_ASSERT(std::holds_alternative<Embedding>(made), "value {} is no embedding", embedding.id);
  return step(Linear{std::get<Embedding>(made).weight, -1}, input, {0, shape_.classes, 1, 1});
}

Network NetworkBuilder::finish() {
  std::vector<Step>& steps = network_.steps;
  std::vector<std::size_t> last_reader(steps.size(), steps.size());
  for (std::size_t k = 0; k < steps.size(); ++k) {
    last_reader[static_cast<std::size_t>(steps[k].input)] = k;
    if (const Add* add = std::get_if<Add>(&steps[k].operation))
      last_reader[static_cast<std::size_t>(add->other)] = k;
  }
  for (std::size_t value = 0; value < steps.size(); ++value) {
    ACID_ASSERT(last_reader[value] < steps.size(), "nothing reads value {}", value);
    Step& reader = steps[last_reader[value]];
    reader.expired.push_back(static_cast<int>(value));
    // A flattened value is a view, and an activation's result is needed backwards.
    if (reader.input == static_cast<int>(value) && value > 0)
      reader.in_place = result_is_disposable(steps[value - 1].operation);
  }
  return std::move(network_);
}

void require_images(std::string_view model, const DataShape& shape) {
  if (shape.height > 1 && shape.width > 1) return;
  throw UsageError(fmt::format(
      "model '{}' needs images, but the data set's examples are {} x {} x {} (channels x height x "
      "width); use 'linear' or 'mlp' for flat data",
      model, shape.channels, shape.height, shape.width));
}

Activation parse_activation(std::string_view name) {
  if (name == "relu") return Activation::relu;
  if (name == "tanh") return Activation::tanh;
  ACID_ASSERT(name == "gelu", "activation '{}'", name);
  return Activation::gelu;
}

}  // namespace acid
