#include "engine/models/torch/script_operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "engine/base/error.hpp"

namespace acid {
namespace {

namespace jit = torch::jit;

// Parts of the names of operators that draw random numbers.
constexpr const char* kRandom[] = {"dropout",     "::rand",  "::normal", "bernoulli",   "uniform",
                                   "multinomial", "poisson", "rrelu",    "exponential_"};

/// `function`: the whole name of the one that has the operator.
using Visit = std::function<void(const std::string& function, const jit::Node& node)>;

void visit_block(const std::string& function, jit::Block* block, const Visit& visit) {
  for (jit::Node* const node : block->nodes()) {
    visit(function, *node);
    for (jit::Block* const inner : node->blocks()) visit_block(function, inner, visit);
  }
}

void visit_operators(const jit::Module& module, const Visit& visit) {
  for (jit::Function* const function : module._ivalue()->compilation_unit()->get_functions()) {
    function->ensure_defined();
    if (function->isGraphFunction())
      visit_block(function->qualname().qualifiedName(),
                  jit::toGraphFunction(*function).graph()->block(), visit);
  }
}

/// The constant that an operator has for an argument, if it has one.
std::optional<c10::IValue> constant_of(const jit::Node& node, const std::string& argument) {
  const c10::FunctionSchema* const schema = node.maybeSchema();
  if (schema == nullptr) return std::nullopt;
  const auto place = schema->argumentIndexWithName(argument);
  if (!place) return std::nullopt;
  if (auto value = jit::toIValue(node.input(static_cast<std::size_t>(*place)))) return *value;
  return std::nullopt;
}

/// The mode in which the layer stays; nothing where the module says it, or where it is all the
/// same. Functions of batch normalisation may have a mode of their own in a script.
std::optional<bool> fixed_mode(const std::string& function, const jit::Node& node) {
  const bool normalises = node.kind() == c10::Symbol::fromQualString("aten::batch_norm");
  if (normalises ? function.find("torch.nn.modules.") == std::string::npos
                 : node.kind() != c10::Symbol::fromQualString("aten::dropout"))
    return std::nullopt;
  const auto trains = constant_of(node, normalises ? "training" : "train");
  if (!trains || !trains->isBool()) return std::nullopt;
  const auto p = normalises ? std::nullopt : constant_of(node, "p");
  if (p && p->toScalar().toDouble() == 0) return std::nullopt;
  return trains->toBool();
}

}  // namespace

std::string random_operators(const jit::Module& module) {
  std::set<std::string> names;
  visit_operators(module, [&](const std::string& /*function*/, const jit::Node& node) {
    const std::string kind = node.kind().toQualString();
    const auto has = [&](const char* word) { return kind.find(word) != std::string::npos; };
    if (std::ranges::any_of(kRandom, has)) names.insert(kind);
  });
  return names.empty() ? "an operator" : fmt::format("{}", fmt::join(names, ", "));
}

void refuse_fixed_modes(const std::string& path, const jit::Module& module) {
  visit_operators(module, [&](const std::string& function, const jit::Node& node) {
    if (const auto trains = fixed_mode(function, node))
      throw UsageError(fmt::format(
          "in {} the layer {} stays in {} mode, in gradients and in evaluations: torch.jit.trace "
          "fixes it, and torch.jit.script does not; or model = {{ kind = \"python\" }} takes the "
          "module as it is",
          path, node.kind().toUnqualString(), *trains ? "training" : "evaluation"));
  });
}

}  // namespace acid
