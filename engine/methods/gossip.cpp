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

double number_of(const Numbers& numbers, const char* name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0.0 : found->second;
}

bool is_about(const Numbers& numbers, const char* name, double value) {
  return std::abs(number_of(numbers, name) - value) <= 1e-6 * std::abs(value);
}

template <class T>
std::span<const Slot> GossipRule<T>::slots() const {
  return mixing_.has_momentum() ? std::span<const Slot>(kMomentumCopy) : std::span<const Slot>();
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
