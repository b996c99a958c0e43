#pragma once

#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/models/model.hpp"

namespace acid {

/// A loaded TorchScript file, and the places of its tensors.
struct ScriptFile {
  /// A trained tensor: each once, under its first name.
  struct Parameter {
    std::string name;
    at::Tensor tensor;
  };
  /// A buffer or an untrained parameter; forward() may replace it.
  struct State {
    std::string name, key;
    torch::jit::Module owner;
    at::Tensor tensor() const { return owner.attr(key).toTensor(); }
  };
  /// A module, this one or one within it, and the place of its mode.
  struct Part {
    torch::jit::ObjectPtr object;
    std::size_t slot;
    bool trains;  // in gradients: as in the file, but all do if there the module does not
  };

  std::string path;
  torch::jit::Module module;
  std::vector<Parameter> parameters;
  std::vector<State> states;
  std::vector<Part> parts;

  /// Throws UsageError for a file that this LibTorch cannot load, or that has no trained tensors.
  explicit ScriptFile(const std::string& path);
  /// Sets the mode of every part, for a gradient or for an evaluation.
  void set_training(bool training);
  /// forward() of rows of features; throws UsageError when the result is not rows × classes.
  at::Tensor logits(const at::Tensor& features, std::int64_t classes);
  Layout layout() const;
};

/// ModelRuntime::read(): tries a gradient, and refuses a module that draws random numbers.
StoredModel read_script(const std::string& path, const DataShape& shape);
/// The bytes of the file with these values, in evaluation mode.
std::string script_with(const std::string& path, std::span<const float> x,
                        std::span<const float> buffers, const std::string& about);
std::unique_ptr<Model> make_scripted_model(const std::string& path, const DataShape& shape);

}  // namespace acid
