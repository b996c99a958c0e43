#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/base/rng.hpp"
#include "engine/data/dataset.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

enum class Init {
  zeros,
  ones,
  normal,          // N(0, deviation²)
  kaiming_normal,  // N(0, 2/fan_in): He et al. 2015
  linear_uniform,  // U(±1/√fan_in): the default of torch's Linear and Conv2d
};

struct LayoutTensor {
  Segment segment;
  Init init = Init::zeros;
  std::int64_t fan_in = 1;
  double deviation = 0;
};
std::vector<Segment> segments_of(const std::vector<LayoutTensor>& tensors);

/// The tensors of a model, in forward order. Plan, checkpoints and safetensors use them without
/// LibTorch, and the LibTorch model binds its parameters to them.
struct Layout {
  std::vector<LayoutTensor> parameters;
  std::vector<LayoutTensor> buffers;
  std::int64_t parameter_count() const;
  std::int64_t buffer_count() const;
};

struct Network;

/// A model that processes of a user's program compute.
struct ProcessModel {
  Layout layout;
  std::vector<std::string> files;      // the user's file first, then its own imports
  std::vector<std::string> outside{};  // shapes of untrained parameters on which its loss depends
  bool has_accuracy = true;            // false: its evaluation counts nothing
};
/// The layout in a process's answer: {"parameters": [[name, shape], …], "buffers": …}. Throws Error
/// when the answer has no such form.
Layout layout_told(const nlohmann::json& answer);

/// A model in a file, and the file's values, where training starts.
struct StoredModel {
  Layout layout;
  std::vector<float> parameters, buffers;
};

/// A model a recipe can name. `options` hold every field.
struct ModelEntry {
  std::string_view name;
  std::string_view summary;
  std::span<const Field> fields;
  /// Tensors and steps; the LibTorch module runs the steps. Throws UsageError when the model cannot
  /// take such inputs (a cnn on flat data).
  Network (*build)(const nlohmann::json& options, const DataShape& shape);
  Layout layout(const nlohmann::json& options, const DataShape& shape) const;
  /// When `build` is null, this or `read` is not. Starts the process of a resolved task's model and
  /// has it compute on a few of the task's examples; throws the fault that it reports.
  ProcessModel (*describe)(const nlohmann::json& task) = nullptr;
  /// Loads LibTorch; throws UsageError for a file that cannot be trained on such data.
  StoredModel (*read)(const nlohmann::json& options, const DataShape& shape) = nullptr;
  /// Whether it reads sequences of tokens; layout() refuses the other kind of data.
  bool tokens = false;
};
/// In catalog order.
std::span<const ModelEntry> model_catalog();
/// nullptr when unknown.
const ModelEntry* find_model(std::string_view name);

/// The start point: parameter tensor k from sub-stream k of Purpose::init, so it does not depend on
/// LibTorch. Buffers start at zeros or ones.
void initialise(const Layout& layout, const Seeds& seeds, std::span<float> parameters,
                std::span<float> buffers);

}  // namespace acid
