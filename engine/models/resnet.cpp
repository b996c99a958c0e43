// Residual networks: He et al. 2015.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/models/network.hpp"

namespace acid {
namespace {

using Value = NetworkBuilder::Value;

constexpr Field kNormField = {
    .name = "norm",
    .type = FieldType::text,
    .fallback = "\"batch\"",
    .help =
        "batch norm, group norm or EvoNorm-S0 (2004.02967): of the latter two nothing runs along "
        "with training, so workers with different data share no statistics",
    .choices = "batch,group,evonorm",
    .later = true};
constexpr Field kGroupsField = {
    .name = "groups",
    .type = FieldType::integer,
    .fallback = "null",
    .help = "groups of channels; default: 2 with group, 32 with evonorm, at most the channels",
    .minimum = 1,
    .maximum = 4096,
    .later = true};

constexpr Field kStemFields[] = {
    {.name = "stem",
     .type = FieldType::text,
     .fallback = "\"cifar\"",
     .help = "first layers: 3 x 3 stride 1 for small images, or 7 x 7 stride 2 and a max-pool",
     .choices = "cifar,imagenet"},
    kNormField,
    kGroupsField,
};

constexpr Field kShortcutFields[] = {
    {.name = "shortcut",
     .type = FieldType::text,
     .fallback = "\"pad\"",
     .help = "where the shape changes: option A (pad) or B (projection) of He et al. 2015",
     .choices = "pad,projection"},
    kNormField,
    kGroupsField,
};

/// The normalisation of activations. EvoNorm replaces a norm and the activation that follows it.
/// Before a sum, EvoNorm is the block's own, and the activation after the sum stays.
struct Norm {
  enum class Kind { batch, group, evo } kind = Kind::batch;
  int groups = 0;

  /// Reads kNormField and kGroupsField. Throws UsageError for groups of batch norm.
  explicit Norm(const nlohmann::json& options) {
    const std::string name = options.value("norm", "batch");
    kind = name == "group" ? Kind::group : name == "evonorm" ? Kind::evo : Kind::batch;
    groups = kind == Kind::evo ? 32 : 2;
    const auto given = options.find("groups");
    if (given == options.end() || given->is_null()) return;
    if (kind == Kind::batch)
      throw UsageError("groups is of norm = \"group\" and \"evonorm\", and the norm is \"batch\"");
    groups = given->get<int>();
  }
  Value after(NetworkBuilder& net, const std::string& name, Value input) const {
    if (kind == Kind::batch) return net.batch_norm(name, input);
    return kind == Kind::group ? net.group_norm(name, input, groups)
                               : net.evo_norm(name, input, groups);
  }
  /// The norm together with a ReLU.
  Value activated(NetworkBuilder& net, const std::string& name, Value input) const {
    const Value value = after(net, name, input);
    return kind == Kind::evo ? value : net.activation(value, Activation::relu);
  }
};

/// Where stages and blocks differ between the networks.
struct Residual {
  int channels;             // of the first layer and of the first stage
  std::vector<int> blocks;  // of each stage; each stage has twice the channels of the one before
  /// conv 1 × 1 – norm – relu – conv 3 × 3 (strided, as torchvision has it) – norm – relu – conv
  /// 1 × 1 to four times the channels – norm; else conv 3 × 3 – norm – relu – conv 3 × 3 – norm.
  bool bottleneck = false;
};

class ResidualBuilder {
 public:
  /// `pads`: a shortcut whose output has another shape is option A of He et al. 2015, §3.3,
  /// subsampled, with zero channels and without parameters; else B, a 1 × 1 convolution and a norm.
  ResidualBuilder(const nlohmann::json& options, const DataShape& shape, bool pads)
      : norm_(options), net_(shape), classes_(shape.classes), pads_(pads) {}

  Network build(const Residual& form, bool large_stem) {
    Value value = stem(form.channels, large_stem);
    for (std::size_t stage = 0; stage < form.blocks.size(); ++stage)
      for (int block = 0; block < form.blocks[stage]; ++block)
        value = residual(fmt::format("layer{}.{}", stage + 1, block), value, form.channels << stage,
                         stage > 0 && block == 0 ? 2 : 1, form.bottleneck);
    net_.linear("fc", net_.global_average_pool(value), classes_);
    return net_.finish();
  }

 private:
  // ImageNet-sized: a 7 × 7 convolution of stride 2 and a 3 × 3 maximum of stride 2.
  Value stem(int channels, bool large) {
    const Value value =
        net_.convolution("conv1", net_.features(), channels, large ? 7 : 3, large ? 2 : 1, false);
    const Value normal = norm_.activated(net_, "bn1", value);
    return large ? net_.max_pool(normal, 3, 2) : normal;
  }
  Value residual(const std::string& name, Value input, int channels, int stride, bool bottleneck) {
    const auto layer = [&](int number, Value value, int to, int kernel, int by) {
      return net_.convolution(fmt::format("{}.conv{}", name, number), value, to, kernel, by, false);
    };
    const auto activated = [&](int number, Value value) {
      return norm_.activated(net_, fmt::format("{}.bn{}", name, number), value);
    };
    Value value =
        activated(1, layer(1, input, channels, bottleneck ? 1 : 3, bottleneck ? 1 : stride));
    value = layer(2, value, channels, 3, bottleneck ? stride : 1);
    if (bottleneck) value = layer(3, activated(2, value), 4 * channels, 1, 1);
    value = norm_.after(net_, name + (bottleneck ? ".bn3" : ".bn2"), value);
    value = net_.add(value, across(name, input, bottleneck ? 4 * channels : channels, stride));
    return net_.activation(value, Activation::relu);
  }
  Value across(const std::string& name, Value input, int channels, int stride) {
    if (input.channels == channels && stride == 1) return input;
    if (pads_) return net_.pad_shortcut(input, channels, stride);
    const Value value = net_.convolution(name + ".downsample.0", input, channels, 1, stride, false);
    return norm_.after(net_, name + ".downsample.1", value);
  }

  const Norm norm_;
  NetworkBuilder net_;
  const int classes_;
  const bool pads_;
};

/// §4.2, with n = 3. On CIFAR-10: 269,722 parameters with option A, as in the paper, 272,474 with
/// option B.
Network build_resnet20(const nlohmann::json& options, const DataShape& shape) {
  require_images("resnet20", shape);
  return ResidualBuilder(options, shape, text(options, "shortcut") == "pad")
      .build({16, {3, 3, 3}}, false);
}

/// Table 1. 11,173,962 parameters on CIFAR-10 with stem "cifar", 11,689,512 on ImageNet with
/// "imagenet".
Network build_resnet18(const nlohmann::json& options, const DataShape& shape) {
  require_images("resnet18", shape);
  return ResidualBuilder(options, shape, false)
      .build({64, {2, 2, 2, 2}}, text(options, "stem") == "imagenet");
}

/// Table 1. 25,557,032 parameters on ImageNet.
Network build_resnet50(const nlohmann::json& options, const DataShape& shape) {
  require_images("resnet50", shape);
  return ResidualBuilder(options, shape, false)
      .build({64, {3, 4, 6, 3}, true}, text(options, "stem") == "imagenet");
}

}  // namespace

ModelEntry resnet20_model() {
  return {"resnet20", "the 20-layer residual network for CIFAR", kShortcutFields, &build_resnet20};
}

ModelEntry resnet18_model() {
  return {"resnet18", "the 18-layer residual network", kStemFields, &build_resnet18};
}

ModelEntry resnet50_model() {
  return {"resnet50", "the 50-layer residual network", kStemFields, &build_resnet50};
}

}  // namespace acid
