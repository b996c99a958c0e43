#include <cmath>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/models/fixtures.hpp"

using namespace acid;
using namespace acid::test;

namespace {

Layout layout_of(const std::string& kind, const DataShape& shape,
                 const nlohmann::json& given = nlohmann::json::object()) {
  return find_model(kind)->layout(model_options(kind, given), shape);
}

std::int64_t parameters_of(const std::string& kind, const DataShape& shape,
                           const nlohmann::json& given = nlohmann::json::object()) {
  return layout_of(kind, shape, given).parameter_count();
}

void require_contiguous(const std::vector<LayoutTensor>& tensors, std::set<std::string>& names) {
  std::int64_t offset = 0;
  for (const LayoutTensor& tensor : tensors) {
    INFO(tensor.segment.name);
    REQUIRE(names.insert(tensor.segment.name).second);
    REQUIRE(tensor.segment.offset == offset);
    std::int64_t size = 1;
    for (const std::int64_t extent : tensor.segment.shape) size *= extent;
    REQUIRE(tensor.segment.size == size);
    REQUIRE(size > 0);
    REQUIRE(tensor.fan_in > 0);
    offset += size;
  }
}

}  // namespace

TEST_CASE("parameter counts are those of the papers and of torchvision") {
  const DataShape imagenet{3, 224, 224, 1000};
  CHECK(parameters_of("linear", kGlyphs) == 7'850);
  CHECK(parameters_of("mlp", kGlyphs) == 784 * 128 + 128 + 1'290);
  CHECK(parameters_of("mlp", kGlyphs, {{"hidden", {512, 512}}}) == 669'706);
  CHECK(parameters_of("mlp", kGlyphs, {{"hidden", nlohmann::json::array()}}) == 7'850);
  CHECK(parameters_of("cnn", kGlyphs) == 30'794);
  CHECK(parameters_of("resnet20", kCifar) == 269'722);
  CHECK(parameters_of("resnet20", kCifar, {{"shortcut", "projection"}}) == 272'474);
  CHECK(parameters_of("resnet20", kCifar, {{"norm", "group"}}) == 269'722);
  CHECK(parameters_of("resnet20", kCifar, {{"norm", "evonorm"}}) == 269'722 + 7 * 16 + 6 * 96);
  CHECK(parameters_of("resnet18", kCifar) == 11'173'962);
  CHECK(parameters_of("resnet18", imagenet, {{"stem", "imagenet"}}) == 11'689'512);
  CHECK(parameters_of("resnet50", imagenet, {{"stem", "imagenet"}}) == 25'557'032);
  // GPT-2, small; the number of parameters is that of Hugging Face's transformers.
  const DataShape web_text{1, 1, 1024, 50257, true};
  CHECK(parameters_of("transformer-lm", web_text,
                      {{"layers", 12}, {"width", 768}, {"heads", 12}}) == 124'439'808);
}

TEST_CASE(
    "norms of each example have no statistics, and channels that cannot be divided are told") {
  CHECK(layout_of("resnet18", kCifar, {{"norm", "group"}}).buffer_count() == 0);
  CHECK(layout_of("resnet50", kCifar, {{"norm", "evonorm"}}).buffer_count() == 0);
  CHECK_THROWS_WITH(layout_of("resnet20", kCifar, {{"norm", "group"}, {"groups", 3}}),
                    ContainsSubstring("16 channels cannot be divided into 3 groups"));
  CHECK_THROWS_WITH(layout_of("resnet20", kCifar, {{"groups", 2}}),
                    ContainsSubstring("the norm is \"batch\""));
}

TEST_CASE("every layout is contiguous and names each tensor once") {
  for (const ModelEntry& entry : model_catalog()) {
    INFO(entry.name);
    REQUIRE(find_model(entry.name)->name == entry.name);
    REQUIRE_FALSE(entry.summary.empty());
    if (entry.build == nullptr) continue;  // its layout comes from a process
    const Layout layout = layout_of(std::string(entry.name), shape_for(entry));
    std::set<std::string> names;
    require_contiguous(layout.parameters, names);
    require_contiguous(layout.buffers, names);
  }
  CHECK(find_model("no such model") == nullptr);
}

TEST_CASE("tensors have the names and shapes that torchvision gives them") {
  const Layout layout = layout_of("resnet18", kCifar);
  const auto shape_of = [&](std::string_view name) -> std::vector<std::int64_t> {
    for (const auto* tensors : {&layout.parameters, &layout.buffers})
      for (const LayoutTensor& tensor : *tensors)
        if (tensor.segment.name == name) return tensor.segment.shape;
    return {};
  };
  using Shape = std::vector<std::int64_t>;
  CHECK(shape_of("conv1.weight") == Shape{64, 3, 3, 3});
  CHECK(shape_of("layer1.0.conv1.weight") == Shape{64, 64, 3, 3});
  CHECK(shape_of("layer2.0.downsample.0.weight") == Shape{128, 64, 1, 1});
  CHECK(shape_of("layer2.0.downsample.1.running_var") == Shape{128});
  CHECK(shape_of("layer4.1.bn2.running_mean") == Shape{512});
  CHECK(shape_of("fc.weight") == Shape{10, 512});
}

TEST_CASE("a convolutional model on flat data is refused, and the message says what to use") {
  const DataShape flat{1, 1, 784, 10};
  for (const char* kind : {"cnn", "resnet20", "resnet18", "resnet50"})
    CHECK_THROWS_WITH(layout_of(kind, flat), ContainsSubstring(kind) && ContainsSubstring("'mlp'"));
  CHECK(parameters_of("mlp", flat) == parameters_of("mlp", kGlyphs));
}

TEST_CASE("a language model takes tokens alone, the others numbers, and heads share the width") {
  CHECK_THROWS_WITH(layout_of("transformer-lm", kGlyphs),
                    ContainsSubstring("1 x 28 x 28 numbers") && ContainsSubstring("'text'"));
  for (const char* kind : {"linear", "mlp", "cnn", "resnet20", "resnet18", "resnet50"})
    CHECK_THROWS_WITH(layout_of(kind, kSequence),
                      ContainsSubstring(kind) && ContainsSubstring("'transformer-lm'"));
  CHECK_THROWS_WITH(layout_of("transformer-lm", kSequence, {{"width", 30}, {"heads", 4}}),
                    ContainsSubstring("4 heads") && ContainsSubstring("width of 30") &&
                        ContainsSubstring("multiple"));
  CHECK(parameters_of("transformer-lm", kSequence, {{"width", 3}, {"heads", 3}}) > 0);
}

TEST_CASE("a transformer starts as GPT-2 does: what ends a residual branch is smaller") {
  const nlohmann::json options = model_options("transformer-lm", {{"layers", 8}});
  const Layout layout = find_model("transformer-lm")->layout(options, kSequence);
  const State state(options, kSequence);
  for (const LayoutTensor& tensor : layout.parameters) {
    INFO(tensor.segment.name);
    const auto values = std::span(state.x).subspan(static_cast<std::size_t>(tensor.segment.offset),
                                                   static_cast<std::size_t>(tensor.segment.size));
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    const double spread = std::sqrt(squares / static_cast<double>(values.size()));
    const bool norm = tensor.segment.name.find("ln_") != std::string::npos;
    const bool last = tensor.segment.name.ends_with("c_proj.weight");
    if (tensor.segment.name.ends_with("bias"))
      CHECK(spread == 0);
    else
      CHECK(spread == Approx(norm ? 1 : last ? 0.005 : 0.02).epsilon(norm ? 0 : 0.1));
  }
}

TEST_CASE("the start point is a function of the init seed alone") {
  const nlohmann::json options = model_options("resnet20");
  const State first(options, kCifar, 5);
  const State again(options, kCifar, 5);
  const State other(options, kCifar, 6);
  CHECK(first.x == again.x);
  CHECK(first.buffers == again.buffers);
  CHECK(first.x != other.x);
  CHECK(first.buffers == other.buffers);

  Seeds same_init(5);
  same_init.data = same_init.gossip = same_init.compute = 99;
  std::vector<float> x(first.x.size());
  std::vector<float> buffers(first.buffers.size());
  initialise(find_model("resnet20")->layout(options, kCifar), same_init, x, buffers);
  CHECK(x == first.x);
}

TEST_CASE("a tensor's start does not depend on the tensors after it") {
  const State narrow(model_options("mlp", {{"hidden", {32}}}), kGlyphs);
  const State deep(model_options("mlp", {{"hidden", {32, 32}}}), kGlyphs);
  const std::size_t first_layer = 784 * 32 + 32;
  CHECK(std::equal(narrow.x.begin(), narrow.x.begin() + first_layer, deep.x.begin()));
}

TEST_CASE("start values have the mean and spread that their tensor asks for") {
  const Layout layout = layout_of("resnet20", kCifar);
  const State state(model_options("resnet20"), kCifar);
  for (const LayoutTensor& tensor : layout.parameters) {
    INFO(tensor.segment.name);
    const auto values = std::span(state.x).subspan(static_cast<std::size_t>(tensor.segment.offset),
                                                   static_cast<std::size_t>(tensor.segment.size));
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
    const auto n = static_cast<double>(values.size());
    const auto fan_in = static_cast<double>(tensor.fan_in);
    if (tensor.init == Init::zeros) CHECK(squares == 0);
    if (tensor.init == Init::ones) CHECK(sum == n);
    if (n < 400) continue;
    const double variance = tensor.init == Init::kaiming_normal ? 2 / fan_in : 1 / (3 * fan_in);
    CHECK(std::abs(sum / n) < 5 * std::sqrt(variance / n));
    CHECK(squares / n == Approx(variance).epsilon(5 * std::sqrt(2 / n)));
    if (tensor.init == Init::linear_uniform)
      CHECK(std::ranges::max(values) <= 1 / std::sqrt(fan_in));
  }
}

TEST_CASE("initialise refuses arrays of the wrong size") {
  const Layout layout = layout_of("linear", kGlyphs);
  std::vector<float> x(10);
  CHECK_THROWS_AS(initialise(layout, Seeds(1), x, {}), AssertionError);
}
