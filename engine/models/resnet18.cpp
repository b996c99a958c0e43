#include <fmt/format.h>

#include "engine/models/residual.hpp"

namespace acid {
namespace {

/// He et al. 2015, table 1: four stages of two basic blocks, projection shortcuts. 11,173,962
/// parameters on CIFAR-10 with stem "cifar", 11,689,512 on ImageNet with "imagenet".
Network build_resnet18(const nlohmann::json& options, const DataShape& shape) {
  require_images("resnet18", shape);
  const Norm norm(options);
  NetworkBuilder net(shape);
  NetworkBuilder::Value value = residual_stem(net, text(options, "stem"), 64, norm);
  for (int stage = 1; stage <= 4; ++stage) {
    for (int block = 0; block < 2; ++block) {
      const int stride = stage > 1 && block == 0 ? 2 : 1;
      value = basic_block(net, fmt::format("layer{}.{}", stage, block), value, 32 << stage, stride,
                          Shortcut::projection, norm);
    }
  }
  net.linear("fc", net.global_average_pool(value), shape.classes);
  return net.finish();
}

}  // namespace

ModelEntry resnet18_model() {
  return {"resnet18", "the 18-layer residual network", kResidualFields, &build_resnet18};
}

}  // namespace acid
