#include <array>
#include <nlohmann/json.hpp>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/method.hpp"
#include "engine/worker/optimizer.hpp"

namespace acid {
namespace {

constexpr std::array kMoments = {Slot{.name = "first_moment"}, Slot{.name = "second_moment"}};

/// Adam on the worker's own gradients; x alone is averaged.
template <class T>
class DecentAdam final : public Rule<T> {
 public:
  explicit DecentAdam(const OptimizerSettings& adam) : adam_(adam) {}

  std::span<const Slot> slots() const override { return kMoments; }
  void step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
            T* next_point) const override {
    optimizer_step<T>(worker, adam_, worker.slot(0), worker.slot(1), size, gradient,
                      {worker.x, nullptr, 0}, next_point);
  }

 private:
  const OptimizerSettings adam_;
};

constexpr std::array kDecentAdamFields = {
    kAdamFields[0],
    kAdamFields[1],
    kAdamFields[2],
    kWeightsField,
};

Method make_decent_adam(const nlohmann::json& options, const Spectral*) {
  OptimizerSettings adam;
  adam.kind = OptimizerKind::adam;
  adam.beta1 = number(options, "beta1");
  adam.beta2 = number(options, "beta2");
  adam.epsilon = number(options, "epsilon");
  Method method;
  method.kind = "decent-adam";
  method.peers = Peers::neighbours;
  method.round = Round("say gradient hear step");
  method.uniform_weights = text(options, "weights") == "uniform";
  method.rules = rules<DecentAdam>(adam);
  return method;
}

}  // namespace

/// Decentralised Adam (Decent-DP's, 2410.11998, with one gradient per step): xᵢ ← Σⱼ Wᵢⱼ xⱼ − γ
/// Adam(gᵢ(xᵢ)), with moments that each worker keeps to itself. Communication overlaps compute and
/// costs what D-PSGD's does.
AlgorithmEntry decent_adam_entry() {
  return {.name = "decent-adam",
          .label = "Decent-Adam",
          .summary = "Adam on own gradients, average with all neighbours every step, synchronous",
          .source = "2410.11998",
          .peers = Peers::neighbours,
          .optimizers = Optimizers::none,
          .fields = kDecentAdamFields,
          .make = &make_decent_adam};
}

}  // namespace acid
