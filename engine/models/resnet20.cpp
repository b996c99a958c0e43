#include <fmt/format.h>

#include "engine/models/residual.hpp"

namespace acid {
namespace {

constexpr Field kResnet20Fields[] = {
    {.name = "shortcut",
     .type = FieldType::text,
     .fallback = "\"pad\"",
     .help = "where the shape changes: option A (pad) or B (projection) of He et al. 2015",
     .choices = "pad,projection"},
    kNormField,
    kGroupsField,
};

/// He et al. 2015, §4.2, with n = 3: three stages of three blocks with 16, 32 and 64 channels. On
/// CIFAR-10: 269,722 parameters with option A, as in the paper, 272,474 with option B.
Network build_resnet20(const nlohmann::json& options, const DataShape& shape) {
  require_images("resnet20", shape);
  const Shortcut shortcut =
      text(options, "shortcut") == "pad" ? Shortcut::pad : Shortcut::projection;
  const Norm norm(options);
  NetworkBuilder net(shape);
  NetworkBuilder::Value value = residual_stem(net, "cifar", 16, norm);
  for (int stage = 1; stage <= 3; ++stage) {
    for (int block = 0; block < 3; ++block) {
      const int stride = stage > 1 && block == 0 ? 2 : 1;
      value = basic_block(net, fmt::format("layer{}.{}", stage, block), value, 8 << stage, stride,
                          shortcut, norm);
    }
  }
  net.linear("fc", net.global_average_pool(value), shape.classes);
  return net.finish();
}

}  // namespace

ModelEntry resnet20_model() {
  return {"resnet20", "the 20-layer residual network for CIFAR", kResnet20Fields, &build_resnet20};
}

}  // namespace acid
