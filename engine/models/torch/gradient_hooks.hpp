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

  /// Watches leaf tensors from here on; `parts` says where each lies in the flat vector. No work
  /// when it does so already.
  void watch(const std::vector<at::Tensor>& parameters, const std::vector<LayoutTensor>& parts);
  /// Watches no tensor any more.
  void forget() { accumulators_.clear(); }
  /// loss.backward(), telling `ready`, if there is one, of every watched tensor.
  void backward(const at::Tensor& loss, const GradientReady& ready);

 private:
  class Hook;
  const GradientReady* ready_ = nullptr;  // while a backward() is under way
  // Autograd itself keeps these nodes, and the hooks they own, no longer than a graph.
  std::vector<std::shared_ptr<torch::autograd::Node>> accumulators_;
};

}  // namespace acid
