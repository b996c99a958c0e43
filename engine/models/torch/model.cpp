#include "engine/models/torch/model.hpp"

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "engine/models/torch/forward.hpp"

namespace acid {
namespace {

/// A tensor over memory that its user keeps alive. LibTorch has no read-only tensors: memory given
/// as const is only read.
at::Tensor view(const float* data, at::IntArrayRef shape, at::Device device) {
  return at::from_blob(const_cast<float*>(data), shape,
                       at::TensorOptions().dtype(at::kFloat).device(device));
}

at::Tensor flat_view(std::span<const float> values) {
  return view(values.data(), {static_cast<std::int64_t>(values.size())}, at::kCPU);
}

// Whether LibTorch's kernels on a GPU can use this memory in place at full speed: the engine's
// device memory yes, the host's no, pinned or not. Takes microseconds.
bool lies_on_device(const float* memory) {
  const at::CUDAHooksInterface& cuda = at::detail::getCUDAHooks();
  void* const address = const_cast<float*>(memory);
  if (cuda.isPinnedPtr(address)) return false;
  try {
    return cuda.getDeviceFromPtr(address).is_cuda();
  } catch (const c10::Error&) {  // LibTorch's way to say that CUDA does not know the address
    return false;
  }
}

// Gives the calling thread a stream of its own on that device, once, so that workers on one GPU
// compute side by side. Results are complete after waiting for the stream, as Tensor::item() does.
void use_own_stream(at::Device device) {
  thread_local bool has_one = false;
  if (has_one) return;
  const c10::impl::VirtualGuardImpl cuda(device.type());
  cuda.setDevice(device);
  cuda.exchangeStream(cuda.getStreamFromGlobalPool(device));
  has_one = true;
}

}  // namespace

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

TorchModel::TorchModel(Network network, const DataShape& shape, at::Device device)
    : network_(std::move(network)), shape_(shape), device_(device) {}

float* TorchModel::reach(Bound& bound, std::span<const float> values) {
  bound.copied = !device_.is_cpu() && !values.empty() && !lies_on_device(values.data());
  if (!bound.copied) return const_cast<float*>(values.data());
  if (!bound.device_array.defined())
    bound.device_array = at::empty({static_cast<std::int64_t>(values.size())},
                                   at::TensorOptions().dtype(at::kFloat).device(device_));
  return bound.device_array.data_ptr<float>();
}

bool TorchModel::bind(Bound& bound, std::span<const float> values,
                      const std::vector<LayoutTensor>& parts) {
  float* base = reach(bound, values);
  if (base == bound.base && bound.tensors.size() == parts.size()) return false;
  bound.base = base;
  bound.tensors.clear();
  for (const LayoutTensor& part : parts)
    bound.tensors.push_back(view(base + part.segment.offset, part.segment.shape, device_));
  return true;
}

void TorchModel::bind_buffers(std::span<const float> buffers) {
  bind(buffers_, buffers, network_.layout.buffers);
  if (buffers_.copied) buffers_.device_array.copy_(flat_view(buffers));
}

void TorchModel::bind_parameters(std::span<const float> x) {
  ACID_ASSERT(static_cast<std::int64_t>(x.size()) == network_.layout.parameter_count(),
              "{} values for {} parameters", x.size(), network_.layout.parameter_count());
  const bool fresh = bind(parameters_, x, network_.layout.parameters);
  if (parameters_.copied) parameters_.device_array.copy_(flat_view(x));
  if (!fresh) return;
  for (at::Tensor& tensor : parameters_.tensors) tensor.requires_grad_(true);
  gradients_.base = nullptr;  // the new tensors have no .grad() yet
  hooks_.forget();
}

void TorchModel::bind_gradients(std::span<float> g) {
  ACID_ASSERT(static_cast<std::int64_t>(g.size()) == network_.layout.parameter_count(),
              "{} values for {} parameters", g.size(), network_.layout.parameter_count());
  if (bind(gradients_, g, network_.layout.parameters)) {
    for (std::size_t k = 0; k < parameters_.tensors.size(); ++k)
      parameters_.tensors[k].mutable_grad() = gradients_.tensors[k];
  }
  if (device_.is_cpu())
    std::ranges::fill(g, 0.0F);
  else
    view(gradients_.base, {static_cast<std::int64_t>(g.size())}, device_).zero_();
}

at::Tensor TorchModel::features(const Batch& batch) const {
  const std::int64_t rows = std::ssize(batch.labels) / shape_.labels();
  ACID_ASSERT(static_cast<std::int64_t>(batch.features.size()) == rows * shape_.features(),
              "{} features for {} examples of {}", batch.features.size(), rows, shape_.features());
  return view(batch.features.data(), {rows, shape_.channels, shape_.height, shape_.width}, at::kCPU)
      .to(device_);
}

at::Tensor TorchModel::labels(const Batch& batch) const {
  return at::from_blob(const_cast<std::int64_t*>(batch.labels.data()),
                       {static_cast<std::int64_t>(batch.labels.size())}, at::kLong)
      .to(device_);
}

at::Tensor TorchModel::logits_of(const Batch& batch, bool training) const {
  return forward(network_, parameters_.tensors, buffers_.tensors, features(batch), training)
      .flatten(0, -2);
}

double TorchModel::loss_and_gradient(std::span<const float> x, std::span<float> buffers,
                                     const Batch& batch, std::span<float> g,
                                     const GradientReady& ready) {
  return translating_errors([&] {
    if (!device_.is_cpu()) use_own_stream(device_);
    bind_buffers(buffers);
    bind_parameters(x);
    bind_gradients(g);

    const at::Tensor logits = logits_of(batch, /*training=*/true);
    const at::Tensor loss = training_loss(logits, labels(batch), batch);
    if (ready && device_.is_cpu()) hooks_.watch(parameters_.tensors, network_.layout.parameters);
    // Adds to the zeroed .grad() tensors, which are views of g.
    hooks_.backward(loss, ready);

    for (std::size_t k = 0; k < gradients_.tensors.size(); ++k) {
      ACID_ASSERT(parameters_.tensors[k].grad().data_ptr() == gradients_.tensors[k].data_ptr(),
                  "LibTorch moved the gradient of '{}' to memory of its own",
                  network_.layout.parameters[k].segment.name);
    }
    if (gradients_.copied) flat_view(g).copy_(gradients_.device_array);
    if (buffers_.copied) flat_view(buffers).copy_(buffers_.device_array);
    return loss.item<double>();  // on a GPU, waits for all of the above
  });
}

PartialEvaluation TorchModel::evaluate(std::span<const float> x, std::span<const float> buffers,
                                       const Batch& batch) {
  return translating_errors([&] {
    if (!device_.is_cpu()) use_own_stream(device_);
    bind_buffers(buffers);
    bind_parameters(x);

    const c10::InferenceMode inference;
    const at::Tensor logits = logits_of(batch, /*training=*/false);
    const at::Tensor losses =
        at::cross_entropy_loss(logits, labels(batch), /*weight=*/{}, at::Reduction::None)
            .to(at::kCPU);
    const at::Tensor predictions = logits.argmax(1).to(at::kCPU);

    PartialEvaluation sums;
    sums.count = static_cast<std::int64_t>(batch.labels.size());
    const float* loss = losses.data_ptr<float>();
    const std::int64_t* prediction = predictions.data_ptr<std::int64_t>();
    for (std::size_t row = 0; row < batch.labels.size(); ++row) {
      sums.loss_sum += static_cast<double>(loss[row]);
      sums.correct += prediction[row] == batch.labels[row] ? 1 : 0;
    }
    return sums;
  });
}

}  // namespace acid
