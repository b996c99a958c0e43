#include "engine/models/residual.hpp"

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"

namespace acid {

using Value = NetworkBuilder::Value;

const std::array<Field, 3> kResidualFields = {
    Field{.name = "stem",
          .type = FieldType::text,
          .fallback = "\"cifar\"",
          .help = "first layers: 3 x 3 stride 1 for small images, or 7 x 7 stride 2 and a max-pool",
          .choices = "cifar,imagenet"},
    kNormField, kGroupsField};

Norm::Norm(const nlohmann::json& options) {
  const std::string name = options.value("norm", "batch");
  kind = name == "group" ? Kind::group : name == "evonorm" ? Kind::evo : Kind::batch;
  groups = kind == Kind::evo ? 32 : 2;
  const auto given = options.find("groups");
  if (given == options.end() || given->is_null()) return;
  if (kind == Kind::batch)
    throw UsageError("groups is of norm = \"group\" and \"evonorm\", and the norm is \"batch\"");
  groups = given->get<int>();
}

Value Norm::after(NetworkBuilder& net, const std::string& name, Value input) const {
  if (kind == Kind::batch) return net.batch_norm(name, input);
  return kind == Kind::group ? net.group_norm(name, input, groups)
                             : net.evo_norm(name, input, groups);
}

Value Norm::activated(NetworkBuilder& net, const std::string& name, Value input) const {
  const Value value = after(net, name, input);
  return kind == Kind::evo ? value : net.activation(value, Activation::relu);
}

namespace {

Value across(NetworkBuilder& net, const std::string& name, Value input, int channels, int stride,
             Shortcut shortcut, const Norm& norm) {
  if (input.channels == channels && stride == 1) return input;
  if (shortcut == Shortcut::pad) return net.pad_shortcut(input, channels, stride);
  const Value value = net.convolution(name + ".downsample.0", input, channels, 1, stride, false);
  return norm.after(net, name + ".downsample.1", value);
}

}  // namespace

Value basic_block(NetworkBuilder& net, const std::string& name, Value input, int channels,
                  int stride, Shortcut shortcut, const Norm& norm) {
  Value value = net.convolution(name + ".conv1", input, channels, 3, stride, false);
  value = norm.activated(net, name + ".bn1", value);
  value = net.convolution(name + ".conv2", value, channels, 3, 1, false);
  value = norm.after(net, name + ".bn2", value);
  value = net.add(value, across(net, name, input, channels, stride, shortcut, norm));
  return net.activation(value, Activation::relu);
}

Value bottleneck_block(NetworkBuilder& net, const std::string& name, Value input, int channels,
                       int stride, const Norm& norm) {
  Value value = net.convolution(name + ".conv1", input, channels, 1, 1, false);
  value = norm.activated(net, name + ".bn1", value);
  value = net.convolution(name + ".conv2", value, channels, 3, stride, false);
  value = norm.activated(net, name + ".bn2", value);
  value = net.convolution(name + ".conv3", value, 4 * channels, 1, 1, false);
  value = norm.after(net, name + ".bn3", value);
  value =
      net.add(value, across(net, name, input, 4 * channels, stride, Shortcut::projection, norm));
  return net.activation(value, Activation::relu);
}

Value residual_stem(NetworkBuilder& net, const std::string& stem, int channels, const Norm& norm) {
  const bool large = stem == "imagenet";
  Value value =
      net.convolution("conv1", net.features(), channels, large ? 7 : 3, large ? 2 : 1, false);
  value = norm.activated(net, "bn1", value);
  return large ? net.max_pool(value, 3, 2) : value;
}

}  // namespace acid
