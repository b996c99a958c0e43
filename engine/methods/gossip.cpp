#include "engine/methods/gossip.hpp"

#include <array>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/worker/elements.hpp"
#include "engine/worker/passes.hpp"

namespace acid {
namespace {

using kernels::from;

constexpr std::array kMomentumCopy = {
    Slot{.name = "x_tilde", .start = Slot::Start::x, .shared = true}};

bool is_about(double given, double value) {  // to six digits
  return std::abs(given - value) <= 1e-6 * std::abs(value);
}

}  // namespace

std::vector<std::pair<std::string_view, double>> shown_of(const Mixing& mixing) {
  return {{"alpha", mixing.alpha}, {"eta", mixing.eta}, {"alpha_tilde", mixing.alpha_tilde}};
}

double mixing_coefficient(double eta, double elapsed) {
  ACID_ASSERT(elapsed >= 0, "mixing over a negative time {}", elapsed);
  return -0.5 * std::expm1(-2 * eta * elapsed);
}

ApplySteps apply_steps(const Mixing& mixing, double late) {
  const double c = mixing.has_momentum() ? mixing_coefficient(mixing.eta, late) : 0;
  const double shift = c * (mixing.alpha_tilde - mixing.alpha);
  return {mixing.alpha + shift, mixing.alpha_tilde - shift};
}

template <class T>
std::span<const Slot> GossipRule<T>::slots() const {
  return mixing_.has_momentum() ? std::span<const Slot>(kMomentumCopy) : std::span<const Slot>();
}

// Without a momentum copy an exchange of i and j lowers n·C by ½‖xᵢ − xⱼ‖². With one
// V = ‖πx‖² + ‖πx̃‖²_{Λ⁺}/χ₁ contracts at rate η (2306.08289), n·C ≤ V, and V ≤ 2n·C at the start,
// where x̃ = x.
template <class T>
std::optional<Decay> GossipRule<T>::decay(double chi1, double chi2) const {
  if (!is_about(mixing_.alpha, 0.5)) return std::nullopt;
  if (!mixing_.has_momentum()) return Decay{1, 1 / (2 * chi1), "t/(2χ₁)", "χ₁", chi1};
  if (!is_about(mixing_.eta, 1 / (2 * std::sqrt(chi1 * chi2))) ||
      !is_about(mixing_.alpha_tilde, 0.5 * std::sqrt(chi1 / chi2)))
    return std::nullopt;
  return Decay{2, mixing_.eta, "ηt", "η", mixing_.eta};
}

template <class T>
kernels::Mixed<T> GossipRule<T>::mixed(const WorkerView<T>& worker) const {
  if (!mixing_.has_momentum()) return {worker.x, nullptr, 0};
  return {worker.x, worker.slot(0),
          static_cast<T>(mixing_coefficient(mixing_.eta, worker.elapsed))};
}

template <class T>
void GossipRule<T>::advance(const WorkerView<T>& worker) const {
  if (!mixing_.has_momentum()) return;
  in_parts(worker.settings, worker.settings.dimension,
           [&, all = mixed(worker)](std::size_t first, std::size_t size) {
             worker.kernels().mix(from(all, first), size);
           });
}

template <class T>
void GossipRule<T>::point(const WorkerView<T>& worker, T* out) const {
  in_parts(worker.settings, worker.settings.dimension,
           [&, all = mixed(worker)](std::size_t first, std::size_t size) {
             worker.kernels().mix_and_copy(from(all, first), out + first, size);
           });
}

template <class T>
void GossipRule<T>::step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
                         T* next_point) const {
  const kernels::Mixed<T> all = mixed(worker);
  local_step(worker, size, gradient, all.x_tilde, all.c, next_point);
}

template <class T>
void GossipRule<T>::say(const WorkerView<T>& worker, T* out) const {
  point(worker, out);
}

template <class T>
void GossipRule<T>::hear(const WorkerView<T>& worker, const Heard<T>& heard) const {
  const ApplySteps steps = apply_steps(mixing_, heard.late);
  const T *const own = heard.sources[0].x, *const partner = heard.sources[1].x;
  in_parts(worker.settings, worker.settings.dimension,
           [&, all = mixed(worker)](std::size_t first, std::size_t size) {
             worker.kernels().mix_and_apply(from(all, first), own + first, partner + first,
                                            static_cast<T>(steps.x), static_cast<T>(steps.x_tilde),
                                            size);
           });
}

template <class T>
void GossipRule<T>::meet(const WorkerView<T>& i, const WorkerView<T>& j) const {
  in_parts(i.settings, i.settings.dimension,
           [&, all_i = mixed(i), all_j = mixed(j)](std::size_t first, std::size_t size) {
             i.kernels().exchange(from(all_i, first), from(all_j, first),
                                  static_cast<T>(mixing_.alpha),
                                  static_cast<T>(mixing_.alpha_tilde), size);
           });
}

template <class T>
void GossipRule<T>::read(const WorkerView<T>& worker, const Heard<T>* pending, std::size_t first,
                         T* out, std::size_t size) const {
  const kernels::Mixed<T> all = mixed(worker);
  worker.kernels().copy_mixed(all.x + first, from(all.x_tilde, first), all.c, out, size);
  if (pending == nullptr) return;
  // Only x is needed, not x̃.
  const T step = static_cast<T>(apply_steps(mixing_, pending->late).x);
  cpu_backend().kernels<T>().mix_and_apply({out, nullptr, 0}, pending->sources[0].x + first,
                                           pending->sources[1].x + first, step, step, size);
}

template class GossipRule<float>;
template class GossipRule<double>;

}  // namespace acid
