#pragma once

#include <array>

#include "engine/methods/method.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Parameters of the pairwise exchange and of the continuous mixing between exchanges: dx = η(x̃ −
/// x) dt, dx̃ = η(x − x̃) dt; an exchange moves x by α and x̃ by α̃ of the difference (A²CiD²,
/// 2306.08289; AD-PSGD is α = ½, η = 0).
struct Mixing {
  double alpha = 0.5;
  double alpha_tilde = 0.5;
  double eta = 0;
  /// With η = 0, x never sees x̃: it is not stored.
  bool has_momentum() const { return eta > 0; }
};

inline constexpr std::array kMixingShown = {
    Shown{"alpha", "α", "the step of a model at an exchange"},
    Shown{"eta", "η",
          "the rate at which a model and its momentum copy mix, 1/(2√(χ₁χ₂)) in theory"},
    Shown{"alpha_tilde", "α̃", "the step of the momentum copy, ½√(χ₁/χ₂) in theory"},
};
/// The values of the numbers that a Mixing shows.
std::vector<std::pair<std::string_view, double>> shown_of(const Mixing& mixing);

/// c = ½(1 − e^(−2ητ)) for τ = elapsed normalised time; asserts τ ≥ 0.
double mixing_coefficient(double eta, double elapsed);

/// The steps along m = own offer − partner's offer that make an exchange applied `late` (normalised
/// time after the offers) equal to one applied at once: with c as above, x moves by α + c(α̃ − α)
/// and x̃ by α̃ − c(α̃ − α).
struct ApplySteps {
  double x = 0;
  double x_tilde = 0;
};
ApplySteps apply_steps(const Mixing& mixing, double late);

/// Averaging in pairs, with a momentum copy x̃ where the mixing has one: gradients step x and x̃
/// alike, and between events they mix.
template <class T>
class GossipRule final : public Rule<T> {
 public:
  explicit GossipRule(const Mixing& mixing) : mixing_(mixing) {}

  std::span<const Slot> slots() const override;
  bool drifts() const override { return mixing_.has_momentum(); }
  /// For the steps of AD-PSGD and of A²CiD² on that graph, and no others.
  std::optional<Decay> decay(double chi1, double chi2) const override;
  void advance(const WorkerView<T>& worker) const override;
  void point(const WorkerView<T>& worker, T* out) const override;
  void step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
            T* next_point) const override;
  void say(const WorkerView<T>& worker, T* out) const override;
  void hear(const WorkerView<T>& worker, const Heard<T>& heard) const override;
  void meet(const WorkerView<T>& i, const WorkerView<T>& j) const override;
  void read(const WorkerView<T>& worker, const Heard<T>* pending, std::size_t first, T* out,
            std::size_t size) const override;

 private:
  kernels::Mixed<T> mixed(const WorkerView<T>& worker) const;

  const Mixing mixing_;
};

extern template class GossipRule<float>;
extern template class GossipRule<double>;

}  // namespace acid
