#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <vector>

#include "engine/models/layout.hpp"
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

}  // namespace acid
