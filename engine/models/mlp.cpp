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

Network build_mlp(const nlohmann::json& options, const DataShape& shape) {
  const Activation activation = parse_activation(text(options, "activation"));
  NetworkBuilder net(shape);
  NetworkBuilder::Value value = net.features();
  int layer = 1;
  for (const int units : options.at("hidden").get<std::vector<int>>())
    value = net.activation(net.linear(fmt::format("fc{}", layer++), value, units), activation);
  net.linear(fmt::format("fc{}", layer), value, shape.classes);
  return net.finish();
}

}  // namespace

ModelEntry mlp_model() { return {"mlp", "fully connected layers", kMlpFields, &build_mlp}; }

}  // namespace acid
