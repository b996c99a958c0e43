#include "engine/models/torch/scripted_model.hpp"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/version.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/models/torch/model.hpp"
#include "engine/models/torch/script_operators.hpp"

namespace acid {
namespace {

namespace jit = torch::jit;

constexpr const char* kElsewhere = "model = { kind = \"python\" } takes any module of your PyTorch";

/// The first lines of LibTorch's message, which may have hundreds.
std::string first_lines(const std::string& text, int most) {
  std::istringstream stream(text);
  std::string lines;
  for (std::string line; most > 0 && std::getline(stream, line);) {
    if (line.empty() || line.starts_with("Exception raised from")) continue;
    lines += (lines.empty() ? "" : "\n") + line.substr(0, 160);
    --most;
  }
  return lines;
}

std::string said_by(const std::exception& error) {
  const auto* const torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error == nullptr ? error.what() : torch_error->what_without_backtrace();
}

/// The format's version, "10", or "unknown".
std::string format_version(const std::string& path) {
  try {
    return std::to_string(caffe2::serialize::PyTorchStreamReader(path).version());
  } catch (const std::exception&) {
    return "unknown";
  }
}

[[noreturn]] void refuse_file(const std::string& path, const std::exception& error) {
  const std::string said = said_by(error);
  const std::string versions =
      fmt::format("the file has format version {}, and acid uses LibTorch {}", format_version(path),
                  TORCH_VERSION);
  const std::string unknown = "Unknown builtin op: ";
  if (const auto at = said.find(unknown); at != std::string::npos) {
    const auto begin = at + unknown.size();
    const auto name = said.substr(begin, said.find_first_of(" \n", begin) - begin);
    throw UsageError(
        fmt::format("{} needs the operator {}, which this LibTorch does not have: {}; {}", path,
                    name.substr(0, name.find_last_not_of('.') + 1), versions, kElsewhere));
  }
  if (format_version(path) != "unknown" && said.find("constants.pkl") == std::string::npos)
    throw UsageError(fmt::format("LibTorch cannot load {}: {}; {}\n{}", path, versions, kElsewhere,
                                 first_lines(said, 6)));
  throw UsageError(
      fmt::format("{} is no TorchScript file, or a damaged one: "
                  "torch.jit.script(module).save(path) writes one, "
                  "torch.save does not\n{}",
                  path, first_lines(said, 2)));
}

jit::Module loaded(const std::string& path) {
  try {
    return jit::load(path, c10::Device(at::kCPU));
  } catch (const std::exception& error) {
    refuse_file(path, error);
  }
}

at::Tensor view_of(std::span<const float> values, const Segment& segment) {
  return at::from_blob(const_cast<float*>(values.data()) + segment.offset, segment.shape,
                       at::kFloat);
}

void append(std::vector<LayoutTensor>& tensors, const std::string& name, const at::Tensor& tensor) {
  const std::int64_t offset =
      tensors.empty() ? 0 : tensors.back().segment.offset + tensors.back().segment.size;
  tensors.push_back({{name, tensor.sizes().vec(), offset, tensor.numel()}, Init::zeros, 1});
}

// Refuses a buffer or a frozen parameter that 32-bit floats would change.
void expect_exact(const std::string& path, const ScriptFile::State& state) {
  const at::NoGradGuard no_graph;
  const at::Tensor tensor = state.tensor();
  const at::Tensor kept =
      (tensor.is_complex() ? at::real(tensor) : tensor).to(at::kFloat).to(tensor.scalar_type());
  const at::Tensor is_same = kept.eq(tensor).logical_or(kept.ne(kept));  // NaN stays NaN
  if (is_same.all().item<bool>()) return;
  throw UsageError(
      fmt::format("the buffer or frozen parameter '{}' of {} is of type {} and holds values that "
                  "32-bit floats do not: if it never changes, let it be a plain attribute, "
                  "self.{} = tensor, which is a constant in acid",
                  state.name, path, toString(tensor.scalar_type()), state.key));
}

at::Tensor rows_of(std::int64_t rows, const DataShape& shape, const float* features) {
  const bool images = shape.channels > 1 || shape.height > 1;
  const std::vector<std::int64_t> sizes =
      images ? std::vector<std::int64_t>{rows, shape.channels, shape.height, shape.width}
             : std::vector<std::int64_t>{rows, shape.features()};
  return at::from_blob(const_cast<float*>(features), sizes, at::kFloat);
}

[[noreturn]] void refuse_change(const std::string& path, const std::string& parameter) {
  throw UsageError(
      fmt::format("forward() of {} changes its parameter '{}' (p.data = ..., an embedding's "
                  "max_norm, clamp_(), copy_()): in acid only gradients change parameters, so that "
                  "methods can be compared. Compute with what is made of it instead",
                  path, parameter));
}

/// Refuses a module that keeps something from call to call beside its buffers, which is no part of
/// a run's state.
void refuse_memory(ScriptFile& file, const at::Tensor& features, std::int64_t classes) {
  const at::NoGradGuard no_graph;
  constexpr double kRounding = 1e-5;  // the interpreter may compute a later call otherwise
  std::vector<at::Tensor> held;
  for (const ScriptFile::State& state : file.states) held.push_back(state.tensor().clone());
  const auto logits = [&] {
    for (std::size_t k = 0; k < held.size(); ++k) file.states[k].tensor().copy_(held[k]);
    return file.logits(features, classes);
  };
  bool same = true;
  for (const bool training : {true, false}) {
    file.set_training(training);
    const at::Tensor once = logits(), again = logits();
    same = same && at::allclose(once, again, kRounding, kRounding, /*equal_nan=*/true);
  }
  if (same) return;
  throw UsageError(fmt::format(
      "forward() of {} gives another result when it is called again: it keeps something "
      "from call to call (self.n += 1, a tensor that is a plain attribute) which is in "
      "no checkpoint, so that no run could be repeated. Register it as a buffer, which "
      "training may change, or compute without it",
      file.path));
}

/// Tries two examples, a gradient in training mode and an evaluation, so that a fault of the module
/// shows before anything can be lost.
void try_out(ScriptFile& file, const DataShape& shape) {
  refuse_fixed_modes(file.path, file.module);
  std::vector<float> numbers(static_cast<std::size_t>(2 * shape.features()));
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<float>(k * 7919 % 1000) / 500 - 1;
  const at::Tensor features = rows_of(2, shape, numbers.data());
  const at::Generator& generator = at::globalContext().defaultGenerator(at::kCPU);
  const at::Tensor before = generator.get_state();
  std::vector<at::Tensor> held;
  for (const auto& parameter : file.parameters) {
    held.push_back(parameter.tensor.detach().clone());
    if (!held.back().isfinite().all().item<bool>())
      throw UsageError(fmt::format("the parameter '{}' of {} is not finite at the start point",
                                   parameter.name, file.path));
  }
  for (const bool training : {true, false}) {
    file.set_training(training);
    const at::Tensor logits = file.logits(features, shape.classes);
    for (std::size_t k = 0; k < held.size(); ++k)
      if (!at::equal(held[k], file.parameters[k].tensor.detach()))
        refuse_change(file.path, file.parameters[k].name);
    if (!training) break;
    if (!logits.requires_grad())
      throw UsageError(
          fmt::format("what forward() of {} gives does not depend on its parameters", file.path));
    logits.sum().backward();
  }
  if (!at::equal(before, generator.get_state()))
    throw UsageError(fmt::format(
        "{} draws random numbers ({}), from a generator that all workers would share: set p = 0 "
        "before torch.jit.script, or use kind = \"python\", where each gradient has a seed",
        file.path, random_operators(file.module)));
  refuse_memory(file, features, shape.classes);
}

class ScriptedModel final : public Model {
 public:
  ScriptedModel(const std::string& path, const DataShape& shape)
      : file_(path), layout_(file_.layout()), shape_(shape) {}

  double loss_and_gradient(std::span<const float> x, std::span<float> buffers, const Batch& batch,
                           std::span<float> g, const GradientReady& /*ready*/) override {
    prepare(x, buffers, true);
    std::ranges::fill(g, 0.0F);
    for (std::size_t k = 0; k < layout_.parameters.size(); ++k)
      file_.parameters[k].tensor.mutable_grad() = view_of(g, layout_.parameters[k].segment);
    const std::vector<Look> before = looks();
    const at::Tensor loss = training_loss(logits(batch), labels(batch), batch);
    loss.backward();
    refuse_changes(before);
    const at::NoGradGuard no_graph;
    for (std::size_t k = 0; k < layout_.parameters.size(); ++k) {
      const at::Tensor made = file_.parameters[k].tensor.grad();
      at::Tensor place = view_of(g, layout_.parameters[k].segment);
      if (made.data_ptr() != place.data_ptr()) place.copy_(made);
    }
    for (std::size_t k = 0; k < layout_.buffers.size(); ++k)
      view_of(buffers, layout_.buffers[k].segment).copy_(file_.states[k].tensor());
    return loss.item<double>();
  }

  PartialEvaluation evaluate(std::span<const float> x, std::span<const float> buffers,
                             const Batch& batch) override {
    prepare(x, buffers, false);
    const at::NoGradGuard no_graph;
    const std::vector<Look> before = looks();
    const at::Tensor made = logits(batch), targets = labels(batch);
    refuse_changes(before);
    const at::Tensor losses = at::cross_entropy_loss(made, targets, {}, at::Reduction::None);
    return {.loss_sum = losses.to(at::kDouble).sum().item<double>(),
            .correct = made.argmax(1).eq(targets).sum().item<std::int64_t>(),
            .count = targets.size(0)};
  }

 private:
  /// The address of a parameter, and how often it was written in place.
  using Look = std::pair<const void*, std::int64_t>;
  std::vector<Look> looks() const {
    std::vector<Look> all;
    for (const auto& parameter : file_.parameters)
      all.emplace_back(parameter.tensor.data_ptr(), parameter.tensor._version());
    return all;
  }
  void refuse_changes(const std::vector<Look>& before) const {
    const std::vector<Look> now = looks();
    for (std::size_t k = 0; k < now.size(); ++k)
      if (now[k] != before[k]) refuse_change(file_.path, file_.parameters[k].name);
  }
  void prepare(std::span<const float> x, std::span<const float> buffers, bool training) {
    file_.set_training(training);
    const at::NoGradGuard no_graph;
    if (x.data() != bound_)
      for (std::size_t k = 0; k < layout_.parameters.size(); ++k)
        file_.parameters[k].tensor.set_data(view_of(x, layout_.parameters[k].segment));
    bound_ = x.data();
    for (std::size_t k = 0; k < layout_.buffers.size(); ++k)
      file_.states[k].tensor().copy_(view_of(buffers, layout_.buffers[k].segment));
  }
  at::Tensor logits(const Batch& batch) {
    return file_.logits(rows_of(std::ssize(batch.labels), shape_, batch.features.data()),
                        shape_.classes);
  }
  static at::Tensor labels(const Batch& batch) {
    return at::from_blob(const_cast<std::int64_t*>(batch.labels.data()), {std::ssize(batch.labels)},
                         at::kLong);
  }

  ScriptFile file_;
  const Layout layout_;
  const DataShape shape_;
  const float* bound_ = nullptr;  // the array that the parameters are views of
};

}  // namespace

ScriptFile::ScriptFile(const std::string& of) : path(of), module(loaded(of)) {
  if (!module.find_method("forward"))
    throw UsageError(fmt::format("the module in {} has no forward()", path));
  std::set<const void*> known;
  for (const auto& part : module.named_modules()) {
    const jit::ObjectPtr object = part.value._ivalue();
    if (const auto slot = object->type()->findAttributeSlot("training"))
      parts.push_back({object, *slot, object->getSlot(*slot).toBool()});
    const std::string prefix = part.name.empty() ? "" : part.name + ".";
    const auto is_new = [&](const at::Tensor& tensor) {
      return tensor.numel() > 0 && known.insert(tensor.unsafeGetTensorImpl()).second;
    };
    for (const auto& one : part.value.named_parameters(/*recurse=*/false)) {
      if (!is_new(one.value)) continue;
      if (!one.value.requires_grad()) {
        states.push_back({prefix + one.name, one.name, part.value});
        continue;
      }
      if (one.value.scalar_type() != at::kFloat)
        throw UsageError(
            fmt::format("the parameter '{}' of {} is of type {}: acid trains 32-bit "
                        "floats, so call module.float() before saving",
                        prefix + one.name, path, toString(one.value.scalar_type())));
      parameters.push_back({prefix + one.name, one.value});
    }
    for (const auto& one : part.value.named_buffers(/*recurse=*/false))
      if (is_new(one.value)) states.push_back({prefix + one.name, one.name, part.value});
  }
  if (!module.is_training())
    for (Part& part : parts) part.trains = true;
  for (const State& state : states) expect_exact(path, state);
  if (parameters.empty())
    throw UsageError(
        fmt::format("the module in {} has no parameters to train: it may have been "
                    "frozen (torch.jit.freeze) or saved with requires_grad = False",
                    path));
}

void ScriptFile::set_training(bool training) {
  for (const Part& part : parts) part.object->setSlot(part.slot, training && part.trains);
}

at::Tensor ScriptFile::logits(const at::Tensor& features, std::int64_t classes) {
  // Without this, kernels would be fused after a few calls, which changes bits.
  const jit::GraphOptimizerEnabledGuard plain(false);
  c10::IValue made;
  try {
    made = module.forward({features});
  } catch (const std::exception& error) {
    const std::string said = said_by(error);
    const auto reason = said.rfind("RuntimeError: ");  // it comes last, after where it happened
    throw UsageError(
        fmt::format("forward() of {} fails on rows of shape {}:\n{}{}", path,
                    fmt::join(features.sizes().slice(1), " x "),
                    reason == std::string::npos ? "" : first_lines(said.substr(reason), 1) + "\n",
                    first_lines(said, 12)));
  }
  if (!made.isTensor())
    throw UsageError(
        fmt::format("forward() of {} gives a {}: acid needs a tensor, rows x classes; {}", path,
                    made.tagKind(), kElsewhere));
  at::Tensor tensor = made.toTensor();
  if (tensor.dim() != 2 || tensor.size(0) != features.size(0) || tensor.size(1) != classes ||
      tensor.scalar_type() != at::kFloat)
    throw UsageError(fmt::format(
        "forward() of {} gives {} of shape {} for {} rows: the data set has {} classes, so it must "
        "give {} x {} floats",
        path, toString(tensor.scalar_type()), fmt::join(tensor.sizes(), " x "), features.size(0),
        classes, features.size(0), classes));
  return tensor;
}

Layout ScriptFile::layout() const {
  Layout layout;
  for (const Parameter& one : parameters) append(layout.parameters, one.name, one.tensor);
  for (const State& one : states) append(layout.buffers, one.name, one.tensor());
  return layout;
}

StoredModel read_script(const std::string& path, const DataShape& shape) {
  ScriptFile file(path);
  StoredModel stored{.layout = file.layout(), .parameters = {}, .buffers = {}};
  stored.parameters.resize(static_cast<std::size_t>(stored.layout.parameter_count()));
  stored.buffers.resize(static_cast<std::size_t>(stored.layout.buffer_count()));
  {
    const at::NoGradGuard no_graph;
    for (std::size_t k = 0; k < file.parameters.size(); ++k)
      view_of(stored.parameters, stored.layout.parameters[k].segment)
          .copy_(file.parameters[k].tensor);
    for (std::size_t k = 0; k < file.states.size(); ++k)
      view_of(stored.buffers, stored.layout.buffers[k].segment).copy_(file.states[k].tensor());
  }
  try_out(file, shape);
  return stored;
}

std::string script_with(const std::string& path, std::span<const float> x,
                        std::span<const float> buffers, const std::string& about) {
  ScriptFile file(path);
  const Layout layout = file.layout();
  const at::NoGradGuard no_graph;
  for (std::size_t k = 0; k < layout.parameters.size(); ++k)
    file.parameters[k].tensor.copy_(view_of(x, layout.parameters[k].segment));
  for (std::size_t k = 0; k < layout.buffers.size(); ++k)
    file.states[k].tensor().copy_(view_of(buffers, layout.buffers[k].segment));
  file.set_training(false);
  std::ostringstream out;
  file.module.save(out, {{"acid.json", about}});
  return std::move(out).str();
}

std::unique_ptr<Model> make_scripted_model(const std::string& path, const DataShape& shape) {
  return std::make_unique<ScriptedModel>(path, shape);
}

}  // namespace acid
