#include "engine/models/torch/script_module.hpp"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>

#include <cctype>
#include <memory>
#include <sstream>
#include <utility>
#include <variant>
#include <vector>

namespace acid {
namespace {

namespace jit = torch::jit;

/// "layer1.0.conv1.weight" → the modules on the way, outermost first, and the tensor's own name.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream stream(name);
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

/// The expression by which a method of the outermost module refers to a tensor. Numbers are names
/// of modules, as in torch's Sequential, but not identifiers of the language.
std::string reference(const std::string& name) {
  std::string expression = "self";
  for (const std::string& part : parts_of(name)) {
    const bool number = std::isdigit(static_cast<unsigned char>(part.front())) != 0;
    expression = number ? fmt::format("getattr({}, \"{}\")", expression, part)
                        : fmt::format("{}.{}", expression, part);
  }
  return expression;
}

const std::string kAttention = R"(
def attention(self, input: Tensor, heads: int) -> Tensor:
  rows, positions, width = input.size(0), input.size(1), input.size(2) // 3
  split = input.reshape([rows, positions, 3, heads, width // heads]).permute([2, 0, 3, 1, 4])
  queries = split[0] * (1 / float(width // heads) ** 0.5)
  scores = torch.matmul(queries, split[1].transpose(2, 3))
  future = torch.triu(torch.ones([positions, positions], device=input.device), 1) > 0
  weights = torch.softmax(scores.masked_fill(future, float("-inf")), 3)
  return torch.matmul(weights, split[2]).transpose(1, 2).reshape([rows, positions, width])
)";

/// Writes forward() in TorchScript, a line for each step. operator() is one overload per Operation,
/// with the expression of forward.cpp, but no value is overwritten.
class ForwardSource {
 public:
  explicit ForwardSource(const Network& network) : layout_(network.layout) {
    source_ = "def forward(self, input: Tensor) -> Tensor:\n";
    for (const Step& step : network.steps)
      if (std::holds_alternative<CausalAttention>(step.operation)) {
        source_ = kAttention + source_;
        break;
      }
    for (const Step& step : network.steps) {
      input_ = value(step.input);
      const std::string result = std::visit(*this, step.operation);
      source_ += fmt::format("  {} = {}\n", value(++made_), result);
    }
    source_ += fmt::format("  return {}\n", value(made_));
  }
  const std::string& text() const { return source_; }

  std::string operator()(const Linear& linear) const {
    return fmt::format("torch.linear({}, {}, {})", input_, parameter(linear.weight),
                       parameter(linear.bias));
  }

  std::string operator()(const Convolution& convolution) const {
    return fmt::format("torch.conv2d({}, {}, {}, {}, {})", input_, parameter(convolution.weight),
                       parameter(convolution.bias), pair(convolution.stride),
                       pair(convolution.padding));
  }

  std::string operator()(const BatchNorm& norm) const {
    return fmt::format("torch.batch_norm({}, {}, {}, {}, {}, self.training, {}, {}, True)", input_,
                       parameter(norm.weight), parameter(norm.bias), buffer(norm.running_mean),
                       buffer(norm.running_variance), BatchNorm::kMomentum, kNormEpsilon);
  }

  std::string operator()(const GroupNorm& norm) const {
    return fmt::format("torch.group_norm({}, {}, {}, {}, {}, True)", input_, norm.groups,
                       parameter(norm.weight), parameter(norm.bias), kNormEpsilon);
  }

  std::string operator()(const EvoNorm& norm) const {
    const auto of_channels = [&](int index) {
      return fmt::format("torch.reshape({}, [1, -1, 1, 1])", parameter(index));
    };
    const std::string variance =
        fmt::format("torch.var(torch.reshape({0}, [{0}.size(0), {1}, -1]), [2], False, True)",
                    input_, norm.groups);
    const std::string deviation = fmt::format(
        "torch.reshape(torch.repeat_interleave(torch.sqrt({} + {}), {}.size(1) // {}, 1), "
        "[{}.size(0), -1, 1, 1])",
        variance, kNormEpsilon, input_, norm.groups, input_);
    return fmt::format("{0} * torch.sigmoid({0} * {1}) / {2} * {3} + {4}", input_,
                       of_channels(norm.v), deviation, of_channels(norm.weight),
                       of_channels(norm.bias));
  }

  std::string operator()(Activation activation) const {
    switch (activation) {
      case Activation::relu:
        return fmt::format("torch.relu({})", input_);
      case Activation::tanh:
        return fmt::format("torch.tanh({})", input_);
      case Activation::gelu:
        return fmt::format("torch.gelu({})", input_);
    }
    return {};
  }

  std::string operator()(const MaxPool& pool) const {
    return fmt::format("torch.max_pool2d({}, {}, {}, {})", input_, pair(pool.kernel),
                       pair(pool.stride), pair(pool.padding));
  }

  std::string operator()(const GlobalAveragePool& /*pool*/) const {
    return fmt::format("torch.mean({}, [2, 3])", input_);
  }

  std::string operator()(const Flatten& /*flatten*/) const {
    return fmt::format("torch.flatten({}, 1)", input_);
  }

  std::string operator()(const PadShortcut& shortcut) const {
    return fmt::format("torch.constant_pad_nd({}[:, :, ::{}, ::{}], [0, 0, 0, 0, {}, {}])", input_,
                       shortcut.stride, shortcut.stride, shortcut.channels_before,
                       shortcut.channels_after);
  }

  std::string operator()(const Add& add) const {
    return fmt::format("torch.add({}, {})", input_, value(add.other));
  }

  std::string operator()(const Embedding& embedding) const {
    return fmt::format("torch.embedding({}, torch.flatten({}, 1).long())",
                       parameter(embedding.weight), input_);
  }

  std::string operator()(const AddPositions& add) const {
    return fmt::format("torch.add({0}, {1}[:{0}.size(1)])", input_, parameter(add.weight));
  }

  std::string operator()(const LayerNorm& norm) const {
    return fmt::format("torch.layer_norm({0}, [{0}.size(-1)], {1}, {2}, {3})", input_,
                       parameter(norm.weight), parameter(norm.bias), LayerNorm::kEpsilon);
  }

  std::string operator()(const CausalAttention& attention) const {
    return fmt::format("self.attention({}, {})", input_, attention.heads);
  }

 private:
  static std::string value(int id) { return id == 0 ? "input" : fmt::format("v{}", id); }
  static std::string pair(int both) { return fmt::format("[{}, {}]", both, both); }
  std::string parameter(int index) const {
    if (index < 0) return "None";
    return reference(layout_.parameters[static_cast<std::size_t>(index)].segment.name);
  }
  std::string buffer(int index) const {
    return reference(layout_.buffers[static_cast<std::size_t>(index)].segment.name);
  }

  const Layout& layout_;
  std::string source_;
  std::string input_;  // of the step
  int made_ = 0;       // number of values
};

/// The modules that the names of the tensors imply, all types in one unit of compilation.
class ModuleTree {
 public:
  ModuleTree() : root_(make("Model")) {}
  jit::Module& root() { return root_; }

  /// The module that holds a tensor of this name; made, with the modules above it, when missing.
  jit::Module holder(const std::vector<std::string>& parts) {
    jit::Module module = root_;
    std::string type;
    for (std::size_t k = 0; k + 1 < parts.size(); ++k) {
      type += (k > 0 ? "_" : "") + parts[k];
      if (!module.hasattr(parts[k])) module.register_module(parts[k], make("Part_" + type));
      module = module.attr(parts[k]).toModule();
    }
    return module;
  }

 private:
  jit::Module make(const std::string& type) {
    jit::Module module("__torch__.acid." + type, unit_, /*shouldMangle=*/true);
    // torch's train() and eval() set the attribute in every module; a loaded file is for
    // evaluation.
    module.register_attribute("training", c10::BoolType::get(), false);
    return module;
  }

  std::shared_ptr<jit::CompilationUnit> unit_ = std::make_shared<jit::CompilationUnit>();
  jit::Module root_;
};

at::Tensor copy_of(std::span<const float> values, const Segment& segment) {
  const auto part = values.subspan(static_cast<std::size_t>(segment.offset),
                                   static_cast<std::size_t>(segment.size));
  return at::from_blob(const_cast<float*>(part.data()), segment.shape, at::kFloat).clone();
}

}  // namespace

std::string torchscript_file(const Network& network, std::span<const float> parameters,
                             std::span<const float> buffers, const std::string& about) {
  ModuleTree modules;
  for (const LayoutTensor& tensor : network.layout.parameters) {
    const std::vector<std::string> parts = parts_of(tensor.segment.name);
    at::Tensor values = copy_of(parameters, tensor.segment).requires_grad_(true);
    modules.holder(parts).register_parameter(parts.back(), std::move(values), /*is_buffer=*/false);
  }
  for (const LayoutTensor& tensor : network.layout.buffers) {
    const std::vector<std::string> parts = parts_of(tensor.segment.name);
    modules.holder(parts).register_buffer(parts.back(), copy_of(buffers, tensor.segment));
  }
  modules.root().define(ForwardSource(network).text());
  std::ostringstream file;
  modules.root().save(file, {{"acid.json", about}});
  return std::move(file).str();
}

}  // namespace acid
