#include "engine/models/residual.hpp"

namespace acid {

using Value = NetworkBuilder::Value;

const Field kStemField = {
    .name = "stem",
    .type = FieldType::text,
    .fallback = "\"cifar\"",
    .help = "first layers: 3 x 3 stride 1 for small images, or 7 x 7 stride 2 and a max-pool",
    .choices = "cifar,imagenet"};

namespace {

Value normalised_convolution(NetworkBuilder& net, const std::string& prefix, int number,
                             Value input, int channels, int kernel, int stride) {
  const std::string index = std::to_string(number);
  const Value value =
      net.convolution(prefix + "conv" + index, input, channels, kernel, stride, false);
  return net.batch_norm(prefix + "bn" + index, value);
}

Value across(NetworkBuilder& net, const std::string& name, Value input, int channels, int stride,
             Shortcut shortcut) {
  if (input.channels == channels && stride == 1) return input;
  if (shortcut == Shortcut::pad) return net.pad_shortcut(input, channels, stride);
  const Value value = net.convolution(name + ".downsample.0", input, channels, 1, stride, false);
  return net.batch_norm(name + ".downsample.1", value);
}

}  // namespace

Value basic_block(NetworkBuilder& net, const std::string& name, Value input, int channels,
                  int stride, Shortcut shortcut) {
  const std::string prefix = name + ".";
  Value value = normalised_convolution(net, prefix, 1, input, channels, 3, stride);
  value = net.activation(value, Activation::relu);
  value = normalised_convolution(net, prefix, 2, value, channels, 3, 1);
  value = net.add(value, across(net, name, input, channels, stride, shortcut));
  return net.activation(value, Activation::relu);
}

Value bottleneck_block(NetworkBuilder& net, const std::string& name, Value input, int channels,
                       int stride) {
  const std::string prefix = name + ".";
  Value value = normalised_convolution(net, prefix, 1, input, channels, 1, 1);
  value = net.activation(value, Activation::relu);
  value = normalised_convolution(net, prefix, 2, value, channels, 3, stride);
  value = net.activation(value, Activation::relu);
  value = normalised_convolution(net, prefix, 3, value, 4 * channels, 1, 1);
  value = net.add(value, across(net, name, input, 4 * channels, stride, Shortcut::projection));
  return net.activation(value, Activation::relu);
}

Value residual_stem(NetworkBuilder& net, const std::string& stem, int channels) {
  const bool large = stem == "imagenet";
  Value value =
      normalised_convolution(net, "", 1, net.features(), channels, large ? 7 : 3, large ? 2 : 1);
  value = net.activation(value, Activation::relu);
  return large ? net.max_pool(value, 3, 2) : value;
}

}  // namespace acid
