#include "engine/models/network.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/models/fixtures.hpp"

using namespace acid;
using namespace acid::test;

TEST_CASE("a network's steps read only values that exist and have not expired") {
  for (const ModelEntry& entry : model_catalog()) {
    INFO(entry.name);
    if (entry.build == nullptr) continue;  // a process computes it
    const Network network = entry.build(model_options(std::string(entry.name)), shape_for(entry));
    std::vector<bool> alive = {true};
    const auto readable = [&](int value) {
      return value >= 0 && value < static_cast<int>(alive.size()) &&
             alive[static_cast<std::size_t>(value)];
    };
    for (const Step& step : network.steps) {
      REQUIRE(readable(step.input));
      if (const Add* add = std::get_if<Add>(&step.operation)) REQUIRE(readable(add->other));
      alive.push_back(true);
      for (const int value : step.expired) alive[static_cast<std::size_t>(value)] = false;
    }
    // Only the logits are left.
    CHECK(std::ranges::count(alive, true) == 1);
    CHECK(alive.back());
  }
}

TEST_CASE("only a value that nothing else needs is overwritten") {
  NetworkBuilder net(kTiny);
  const auto a = net.convolution("a", net.features(), 4, 3, 1, true);
  const auto b = net.activation(a, Activation::relu);       // step 1: last reader of a
  const auto c = net.batch_norm("c", b);                    // step 2
  const auto d = net.add(c, b);                             // step 3: last reader of c and b
  const auto e = net.activation(d, Activation::relu);       // step 4: last reader of d
  net.linear("f", net.activation(e, Activation::relu), 3);  // step 5: e is an activation
  const Network network = net.finish();
  const std::vector<bool> expected = {false, true, false, true, true, false, false, false};
  REQUIRE(network.steps.size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    INFO("step " << k);
    CHECK(network.steps[k].in_place == expected[k]);
  }
}

TEST_CASE("strided convolutions keep at least one pixel of an image of any size") {
  for (const int size : {2, 3, 4, 7, 8, 28}) {
    const DataShape shape{1, size, size, 10};
    const nlohmann::json options = model_options("cnn", {{"channels", {4, 4, 4, 4, 4, 4}}});
    const Layout layout = find_model("cnn")->layout(options, shape);
    CHECK(layout.parameters[12].segment.name == "fc1.weight");
    CHECK(layout.parameters[12].segment.shape == std::vector<std::int64_t>{32, 4});
  }
}

TEST_CASE("values of different shapes cannot be added, and every value must be read") {
  NetworkBuilder net(kTiny);
  const auto a = net.convolution("a", net.features(), 4, 3, 1, true);
  const auto b = net.convolution("b", a, 8, 3, 1, true);
  CHECK_THROWS_AS(net.add(a, b), AssertionError);
  net.linear("c", a, 3);
  CHECK_THROWS_AS(net.finish(), AssertionError);  // nothing reads b
}
