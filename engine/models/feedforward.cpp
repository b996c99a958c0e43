// Networks without shortcuts: convolutions, if any, then fully connected layers.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/models/network.hpp"

namespace acid {
namespace {

constexpr Field kMlpFields[] = {
    {.name = "hidden",
     .type = FieldType::integers,
     .fallback = "[128]",
     .help = "units of each hidden layer, first to last",
     .minimum = 1,
     .maximum = 65536},
    {.name = "activation",
     .type = FieldType::text,
     .fallback = "\"relu\"",
     .help = "after each hidden layer",
     .choices = "relu,tanh,gelu"},
};

constexpr Field kCnnFields[] = {
    {.name = "channels",
     .type = FieldType::integers,
     .fallback = "[16, 32, 32]",
     .help = "channels of each convolution, first to last",
     .minimum = 1,
     .maximum = 4096},
    {.name = "kernel",
     .type = FieldType::integer,
     .fallback = "3",
     .help = "height and width of the convolutions, in pixels",
     .minimum = 1,
     .maximum = 15},
    {.name = "stride",
     .type = FieldType::integer,
     .fallback = "2",
     .help = "stride of the convolutions, in pixels",
     .minimum = 1,
     .maximum = 8},
    {.name = "hidden",
     .type = FieldType::integers,
     .fallback = "[32]",
     .help = "units of each fully connected layer before the last; may be empty",
     .minimum = 1,
     .maximum = 65536},
    {.name = "activation",
     .type = FieldType::text,
     .fallback = "\"relu\"",
     .help = "after each layer but the last",
     .choices = "relu,tanh,gelu"},
};

Network build_linear(const nlohmann::json& /*options*/, const DataShape& shape) {
  NetworkBuilder net(shape);
  net.linear("fc", net.features(), shape.classes);
  return net.finish();
}

/// The network that ends with the hidden layers of the options, and one to the classes.
Network with_layers(NetworkBuilder& net, NetworkBuilder::Value value, Activation activation,
                    const nlohmann::json& options, int classes) {
  int layer = 1;
  for (const int units : options.at("hidden").get<std::vector<int>>())
    value = net.activation(net.linear(fmt::format("fc{}", layer++), value, units), activation);
  net.linear(fmt::format("fc{}", layer), value, classes);
  return net.finish();
}

Network build_mlp(const nlohmann::json& options, const DataShape& shape) {
  NetworkBuilder net(shape);
  return with_layers(net, net.features(), parse_activation(text(options, "activation")), options,
                     shape.classes);
}

/// Strided convolutions instead of pooling, then fully connected layers. The defaults make 30,794
/// parameters on 28 × 28 × 1 images of 10 classes.
Network build_cnn(const nlohmann::json& options, const DataShape& shape) {
  require_images("cnn", shape);
  const int kernel = static_cast<int>(integer(options, "kernel"));
  const int stride = static_cast<int>(integer(options, "stride"));
  const Activation activation = parse_activation(text(options, "activation"));
  NetworkBuilder net(shape);
  NetworkBuilder::Value value = net.features();
  int layer = 1;
  for (const int channels : options.at("channels").get<std::vector<int>>()) {
    value = net.convolution(fmt::format("conv{}", layer++), value, channels, kernel, stride, true);
    value = net.activation(value, activation);
  }
  return with_layers(net, value, activation, options, shape.classes);
}

}  // namespace

ModelEntry linear_model() {
  return {"linear", "multinomial logistic regression", {}, &build_linear};
}

ModelEntry mlp_model() { return {"mlp", "fully connected layers", kMlpFields, &build_mlp}; }

ModelEntry cnn_model() {
  return {"cnn", "strided convolutions, padded by half the kernel, then fully connected layers",
          kCnnFields, &build_cnn};
}

}  // namespace acid
