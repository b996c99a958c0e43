#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

struct Batch {
  std::span<const float> features;       // rows × shape.features(), row-major
  std::span<const std::int64_t> labels;  // rows × shape.labels()
  /// For the loss of a gradient: the share of each label that is spread evenly over all classes,
  /// including its own (Szegedy et al. 2016, 1512.00567, §7). Evaluations use labels unchanged.
  double label_smoothing = 0;
};

/// One lane's instance of a model: cross-entropy loss, gradient and evaluation on flat vectors that
/// the caller owns. One thread at a time. Implemented with LibTorch in a module that is loaded only
/// for runs that need it (loading LibTorch takes 0.4–0.6 s).
class Model {
 public:
  virtual ~Model() = default;
  /// Returns the mean loss over the batch's labels, at parameters x; its gradient goes to g.
  /// Training mode: `buffers` (running statistics) are read and updated. `ready` may be called for
  /// parts of g while others are still computed, as in Objective::gradient_in_parts.
  virtual double loss_and_gradient(std::span<const float> x, std::span<float> buffers,
                                   const Batch& batch, std::span<float> g,
                                   const GradientReady& ready = {}) = 0;
  /// Returns sums over the batch's labels, in evaluation mode.
  virtual PartialEvaluation evaluate(std::span<const float> x, std::span<const float> buffers,
                                     const Batch& batch) = 0;
};

/// The LibTorch module's side of the contract; obtained with load_model_runtime().
class ModelRuntime {
 public:
  virtual ~ModelRuntime() = default;
  /// `options` has "kind" and every field. `device` is "cpu", "cuda" or "cuda:1" (Error when there
  /// is none). On a device the model's arrays may, and for speed should, be in its memory.
  virtual std::unique_ptr<Model> make(const nlohmann::json& options, const DataShape& shape,
                                      const std::string& device) = 0;
  /// Reads a file's TorchScript module and tries it with examples of that shape: ModelEntry::read.
  virtual StoredModel read(const std::string& path, const DataShape& shape) = 0;
  /// The model at parameters x and `buffers` as a TorchScript module: the bytes of the file that
  /// torch.jit.load reads, equal for equal arguments. forward(input) takes rows × channels × height
  /// × width floats, normalised as in the data set (a model without convolutions also takes rows ×
  /// features; a language model takes rows × any length up to the data set's, of tokens). It gives
  /// the logits, rows × classes, for sequences rows × length × classes. Parameters and buffers have
  /// the layout's names. It starts in evaluation mode; training mode changes batch norm alone, as
  /// in loss_and_gradient(). The file holds `about` as the extra file acid.json.
  virtual std::string torchscript(const nlohmann::json& options, const DataShape& shape,
                                  std::span<const float> x, std::span<const float> buffers,
                                  const nlohmann::json& about) = 0;
  /// Sets LibTorch, OpenMP and OpenBLAS to `threads` for the calling thread and reads the numbers
  /// back; throws Error when one of them differs. Every thread calls it before its first gradient.
  virtual void pin_threads(int threads) = 0;
  /// {"libtorch": version, "blas_library": path of the library that has sgemm_, "blas_core",
  /// "blas_config", "blas_threads", "cpu_capability": "AVX2", "mkldnn": version, "cuda": whether it
  /// can be used, "deterministic": whether the algorithms of a GPU are; they are once a model was
  /// made for one}.
  virtual nlohmann::json environment() = 0;
  /// Measures, normally in less than a tenth of a second, a matrix product on one thread beside a
  /// plain loop that does the same: {"product_flops_per_second", "loop_flops_per_second"}, or
  /// {"error": why threads cannot be pinned}. Leaves the calling thread pinned to one.
  virtual nlohmann::json speed() = 0;
};

struct Module;

/// acid-torch.so, which is missing in a build without LibTorch.
const Module& model_module();

/// Loads acid-torch.so from the folder of the running executable, or from ACID_TORCH_MODULE. The
/// runtime lives until the process ends. Throws Error saying what is missing and how to install it.
ModelRuntime& load_model_runtime();
/// Whether load_model_runtime() has loaded it. Any thread.
bool model_runtime_is_loaded();

/// Classification with a LibTorch model on a data set: all workers start at the same parameters.
/// `lanes` models are made. `model` and `partition` are resolved options with "kind"; `runtime`
/// must outlive the objective. Every thread that calls it is pinned to `threads_per_worker` at its
/// first gradient or evaluation. With `prefetch`, for hosts with idle cores, a thread gathers every
/// worker's next minibatch while the worker computes, unless the minibatches of all lanes would
/// exceed 256 MiB; no result depends on it. Throws UsageError for a model that cannot take the data
/// or more workers than examples, Error for a device that does not exist.
std::unique_ptr<Objective> make_supervised(ModelRuntime& runtime, const nlohmann::json& model,
                                           Dataset dataset, const nlohmann::json& partition,
                                           int batch_size, int workers, int threads_per_worker,
                                           const std::string& device, const Seeds& seeds, int lanes,
                                           bool prefetch = false);

}  // namespace acid
