#include "engine/models/torch/gradient_hooks.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

namespace acid {

class GradientHooks::Hook final : public torch::autograd::FunctionPostHook {
 public:
  Hook(const GradientHooks& owner, const Segment& segment)
      : owner_(owner),
        first_(static_cast<std::size_t>(segment.offset)),
        last_(static_cast<std::size_t>(segment.offset + segment.size)) {}

  torch::autograd::variable_list operator()(
      const torch::autograd::variable_list& outputs,
      const torch::autograd::variable_list& /*inputs*/) override {
    if (owner_.ready_ != nullptr) (*owner_.ready_)(first_, last_);
    return outputs;
  }

 private:
  const GradientHooks& owner_;
  const std::size_t first_, last_;
};

void GradientHooks::watch(const std::vector<at::Tensor>& parameters,
                          const std::vector<LayoutTensor>& parts) {
  if (!accumulators_.empty()) return;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    accumulators_.push_back(torch::autograd::impl::grad_accumulator(parameters[k]));
    accumulators_.back()->add_post_hook(std::make_unique<Hook>(*this, parts[k].segment));
  }
}

void GradientHooks::backward(const at::Tensor& loss, const GradientReady& ready) {
  struct Telling {
    GradientHooks& hooks;
    ~Telling() { hooks.ready_ = nullptr; }
  } telling{*this};
  if (ready) ready_ = &ready;
  loss.backward();
}

}  // namespace acid
