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

using Visit = std::function<void(const jit::Node& node)>;

void visit_block(jit::Block* block, const Visit& visit) {
  for (jit::Node* const node : block->nodes()) {
    visit(*node);
    for (jit::Block* const inner : node->blocks()) visit_block(inner, visit);
  }
}

void visit_operators(const jit::Module& module, const Visit& visit) {
  for (jit::Function* const function : module._ivalue()->compilation_unit()->get_functions()) {
    function->ensure_defined();
    if (function->isGraphFunction())
      visit_block(jit::toGraphFunction(*function).graph()->block(), visit);
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

/// The mode in which the operator stays, whatever its module's is; nothing where the module says
/// it, or where both modes do the same.
std::optional<bool> fixed_mode(const jit::Node& node) {
  for (const char* const argument : {"training", "train", "use_input_stats"}) {
    const auto trains = constant_of(node, argument);
    if (!trains || !trains->isBool()) continue;
    const auto statistics = constant_of(node, "running_mean");
    if (statistics && statistics->isNone()) return std::nullopt;
    for (const char* const chance : {"p", "dropout"}) {
      const auto p = constant_of(node, chance);
      if (p && p->isDouble() && p->toDouble() == 0) return std::nullopt;
    }
    return trains->toBool();
  }
  return std::nullopt;
}

}  // namespace

std::string random_operators(const jit::Module& module) {
  std::set<std::string> names;
  visit_operators(module, [&](const jit::Node& node) {
    const std::string kind = node.kind().toQualString();
    const auto has = [&](const char* word) { return kind.find(word) != std::string::npos; };
    if (std::ranges::any_of(kRandom, has)) names.insert(kind);
  });
  return names.empty() ? "an operator" : fmt::format("{}", fmt::join(names, ", "));
}

void refuse_fixed_modes(const std::string& path, const jit::Module& module) {
  visit_operators(module, [&](const jit::Node& node) {
    if (const auto trains = fixed_mode(node))
      throw UsageError(fmt::format(
          "in {} the layer {} stays in {} mode, in gradients and in evaluations: torch.jit.trace "
          "fixes it, and torch.jit.script does not; or model = {{ kind = \"python\" }} takes the "
          "module as it is",
          path, node.kind().toUnqualString(), *trains ? "training" : "evaluation"));
  });
}

}  // namespace acid
