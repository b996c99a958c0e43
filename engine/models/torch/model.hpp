#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/models/layout.hpp"
#include "engine/models/model.hpp"
#include "engine/models/network.hpp"
#include "engine/worker/objective.hpp"

namespace torch::autograd {
struct Node;
}

namespace acid {

/// Tells which parts of a flat gradient are final while LibTorch computes it: autograd calls a hook
/// right after it has added a tensor's gradient to its .grad(). On the CPU the calls come from the
/// thread that runs backward(). One thread at a time; must not move while it watches.
class GradientHooks {
 public:
  GradientHooks() = default;
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  /// Watches leaf tensors from here on; `parts` says where each is in the flat vector. Costs
  /// nothing if it watches them already.
  void watch(const std::vector<at::Tensor>& parameters, const std::vector<LayoutTensor>& parts);
  /// Watches no tensor any more.
  void forget() { accumulators_.clear(); }
  /// loss.backward(), calling `ready`, if it is set, for every watched tensor.
  void backward(const at::Tensor& loss, const GradientReady& ready);

 private:
  class Hook;
  const GradientReady* ready_ = nullptr;  // set during a backward()
  // Autograd itself keeps these nodes, with their hooks, only as long as a graph lives.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

/// A Network run by LibTorch. Parameters, buffers and gradients are LibTorch tensors over the
/// caller's arrays, not copies. On a GPU this needs arrays in its memory; an array in the host's
/// memory is copied there, and back if it changes, at every call.
class TorchModel : public Model {
 public:
  TorchModel(Network network, const DataShape& shape, at::Device device);
  double loss_and_gradient(std::span<const float> x, std::span<float> buffers, const Batch& batch,
                           std::span<float> g, const GradientReady& ready) override;
  PartialEvaluation evaluate(std::span<const float> x, std::span<const float> buffers,
                             const Batch& batch) override;

 private:
  /// One flat vector of the caller's, and one tensor for each of its parts.
  struct Bound {
    float* base = nullptr;  // what `tensors` view: the caller's array or, if copied, device_array
    bool copied = false;
    at::Tensor device_array;  // undefined until needed
    std::vector<at::Tensor> tensors;
  };
  /// Makes bound.tensors show `values`; true when the tensors are new. Costs nothing when they
  /// already do: a caller that keeps its arrays pays for this once.
  bool bind(Bound& bound, std::span<const float> values, const std::vector<LayoutTensor>& parts);
  /// The address of `values` for LibTorch, or of a copy that is still to be made.
  float* reach(Bound& bound, std::span<const float> values);
  void bind_buffers(std::span<const float> buffers);
  void bind_parameters(std::span<const float> x);
  void bind_gradients(std::span<float> g);
  at::Tensor features(const Batch& batch) const;
  at::Tensor labels(const Batch& batch) const;
  /// A row for each label.
  at::Tensor logits_of(const Batch& batch, bool training) const;

  const Network network_;
  const DataShape shape_;
  const at::Device device_;
  Bound parameters_, buffers_, gradients_;
  GradientHooks hooks_;  // CPU only: elsewhere g is filled after backward()
};

/// The mean cross-entropy of a gradient's batch, its labels smoothed as it says.
inline at::Tensor training_loss(const at::Tensor& logits, const at::Tensor& labels,
                                const Batch& batch) {
  constexpr std::int64_t kIgnored = -100;  // the label that LibTorch ignores; no example has it
  return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, kIgnored,
                                batch.label_smoothing);
}

/// Calls f; an exception of LibTorch becomes an acid::Error.
template <typename F>
auto translating_errors(F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const c10::Error& error) {
    throw Error(std::string("LibTorch: ") + error.what_without_backtrace());
  }
}

}  // namespace acid
