#include <array>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/method.hpp"

namespace acid {
namespace {

constexpr std::array kTracked = {Slot{.name = "tracked"}, Slot{.name = "last_gradient"}};
constexpr std::size_t kY = 0, kLast = 1;

/// y ← y + g − g⁻, then x ← x − γy with the new y; then both are averaged.
template <class T>
class GradientTracking final : public Rule<T> {
 public:
  std::span<const Slot> slots() const override { return kTracked; }
  Message message() const override { return {.vectors = 2}; }

  void step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
            T*) const override {
    T *const y = worker.slot(kY), *const last = worker.slot(kLast);
    add_vector(worker, gradient, 1, y);
    add_vector(worker, last, -1, y);
    copy_vector(worker, gradient, last);
    add_vector(worker, y, -size.learning_rate, worker.x);
  }
  void say(const WorkerView<T>& worker, T* out) const override {
    copy_vector(worker, worker.x, out);
    copy_vector(worker, worker.slot(kY), out + worker.settings.dimension);
  }
  void hear(const WorkerView<T>& worker, const Heard<T>& heard) const override {
    heard_mean(worker, heard, 0, worker.x);
    heard_mean(worker, heard, 1, worker.slot(kY));
  }
};

constexpr std::array kTrackingFields = {
    kWeightsField,
};

Method make_gradient_tracking(const nlohmann::json& options, const Spectral*) {
  Method method;
  method.kind = "gradient-tracking";
  method.peers = Peers::neighbours;
  method.round = Round("gradient step say hear");
  method.uniform_weights = text(options, "weights") == "uniform";
  method.rules = rules<GradientTracking>();
  return method;
}

}  // namespace

/// Gradient tracking (Nedić, Olshevsky & Shi 2017, 1607.03218, whose DIGing combines x before it
/// adapts; here x adapts first): beside x each worker keeps y, its estimate of the mean gradient,
/// and with g⁻ its gradient before, y ← Wy + g − g⁻ and x ← W(x − γy). y and g⁻ begin as 0, so that
/// Σ y = Σ g after every step. Per gradient a worker sends two vectors to each neighbour.
AlgorithmEntry gradient_tracking_entry() {
  return {.name = "gradient-tracking",
          .label = "Gradient tracking",
          .summary = "averages models and estimates of the mean gradient, synchronous",
          .source = "1607.03218",
          .peers = Peers::neighbours,
          .optimizers = Optimizers::none,
          .fields = kTrackingFields,
          .make = &make_gradient_tracking};
}

}  // namespace acid
