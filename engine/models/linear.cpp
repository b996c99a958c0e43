#include "engine/models/network.hpp"

namespace acid {
namespace {

Network build_linear(const nlohmann::json& /*options*/, const DataShape& shape) {
  NetworkBuilder net(shape);
  net.linear("fc", net.features(), shape.classes);
  return net.finish();
}

}  // namespace

ModelEntry linear_model() {
  return {"linear", "multinomial logistic regression", {}, &build_linear};
}

}  // namespace acid
