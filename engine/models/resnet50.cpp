#include <fmt/format.h>

#include "engine/models/residual.hpp"

namespace acid {
namespace {

/// He et al. 2015, table 1: four stages of 3, 4, 6 and 3 bottleneck blocks, with the stride in the
/// 3 × 3 convolution (as torchvision has it). 25,557,032 parameters on ImageNet.
Network build_resnet50(const nlohmann::json& options, const DataShape& shape) {
  require_images("resnet50", shape);
  const Norm norm(options);
  NetworkBuilder net(shape);
  NetworkBuilder::Value value = residual_stem(net, text(options, "stem"), 64, norm);
  int stage = 0;
  for (const int blocks : {3, 4, 6, 3}) {
    ++stage;
    for (int block = 0; block < blocks; ++block) {
      const int stride = stage > 1 && block == 0 ? 2 : 1;
      const std::string name = fmt::format("layer{}.{}", stage, block);
      value = bottleneck_block(net, name, value, 32 << stage, stride, norm);
    }
  }
  net.linear("fc", net.global_average_pool(value), shape.classes);
  return net.finish();
}

}  // namespace

ModelEntry resnet50_model() {
  return {"resnet50", "the 50-layer residual network", kResidualFields, &build_resnet50};
}

}  // namespace acid
