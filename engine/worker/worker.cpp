#include "engine/worker/worker.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/worker/kernels.hpp"

namespace acid {

double mixing_coefficient(double eta, double elapsed) {
  ACID_ASSERT(elapsed >= 0, "mixing over a negative time {}", elapsed);
  return -0.5 * std::expm1(-2 * eta * elapsed);
}

ApplySteps apply_steps(const Mixing& mixing, double late) {
  const double c = mixing.has_momentum() ? mixing_coefficient(mixing.eta, late) : 0;
  const double shift = c * (mixing.alpha_tilde - mixing.alpha);
  return {mixing.alpha + shift, mixing.alpha_tilde - shift};
}

namespace {

// Where x̃ lies behind x.
template <class T>
std::size_t tilde_offset(const WorkerSettings& settings) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  return (settings.dimension + kLine - 1) / kLine * kLine;
}

std::size_t tilde_size(const WorkerSettings& settings) {
  return settings.mixing.has_momentum() ? settings.dimension : 0;
}

template <class T>
Arena<T> placed(std::span<T> shared, std::size_t offset, std::size_t size) {
  return shared.empty() ? Arena<T>(size) : Arena<T>(shared.subspan(offset, size));
}

}  // namespace

template <class T>
std::size_t BasicWorker<T>::shared_size(const WorkerSettings& settings) {
  return tilde_offset<T>(settings) + tilde_size(settings);
}

template <class T>
BasicWorker<T>::BasicWorker(const WorkerSettings& settings, std::span<T> shared)
    : settings_(&settings),
      x_(placed(shared, 0, settings.dimension)),
      x_tilde_(placed(shared, tilde_offset<T>(settings), tilde_size(settings))),
      snapshot_(settings.dimension),
      buffers_(settings.buffer_size),
      gradient_buffers_(settings.buffer_size) {
  const OptimizerSettings& optimizer = settings.optimizer;
  const bool adam = optimizer.kind != OptimizerKind::sgd;
  if (adam || optimizer.momentum > 0) moment1_ = Arena<T>(settings.dimension);
  if (adam) moment2_ = Arena<T>(settings.dimension);
}

template <class T>
void BasicWorker<T>::start(std::span<const T> x0, std::span<const float> buffers) {
  std::copy(buffers.begin(), buffers.end(), buffers_.data());
  std::copy(x0.begin(), x0.end(), x_.data());
  if (tilde() != nullptr) std::copy(x0.begin(), x0.end(), x_tilde_.data());
}

template <class T>
T BasicWorker<T>::advance(double t) {
  ACID_ASSERT(t >= last_, "event at {} after one at {}", t, last_);
  const double c = tilde() == nullptr ? 0 : mixing_coefficient(settings_->mixing.eta, t - last_);
  last_ = t;
  return static_cast<T>(c);
}

template <class T>
void BasicWorker<T>::begin_gradient(double t) {
  ACID_ASSERT(t >= last_, "event at {} after one at {}", t, last_);
  std::copy_n(x_.data(), x_.size(), snapshot_.data());
  take_snapshot_notes();
}

template <class T>
void BasicWorker<T>::take_snapshot_notes() {
  snapshot_updates_ = updates_;
  restart_gradient();
}

template <class T>
void BasicWorker<T>::commit_gradient(double t, std::span<const T> g, double learning_rate,
                                     bool begin_next) {
  ++gradients_;
  staleness_ = updates_ - snapshot_updates_;
  ++updates_;
  step(advance(t), g, learning_rate, begin_next ? snapshot_.data() : nullptr);
  std::swap(buffers_, gradient_buffers_);
  if (begin_next) take_snapshot_notes();
}

template <class T>
void BasicWorker<T>::step(T c, std::span<const T> g, double learning_rate, T* snapshot) {
  const OptimizerSettings& optimizer = settings_->optimizer;
  const auto steps = static_cast<double>(gradients_);
  for (const DecayRange& range : settings_->decay) {
    const auto at = [&](T* values) { return values == nullptr ? nullptr : values + range.begin; };
    const kernels::Mixed<T> mixed{x_.data() + range.begin, at(tilde()), c};
    const std::size_t size = range.end - range.begin;
    if (optimizer.kind == OptimizerKind::sgd) {
      kernels::mix_and_step(mixed,
                            kernels::SgdStep<T>{.g = g.data() + range.begin,
                                                .m = at(moment1_.data()),
                                                .learning_rate = static_cast<T>(learning_rate),
                                                .momentum = static_cast<T>(optimizer.momentum),
                                                .decay = static_cast<T>(range.decay),
                                                .nesterov = optimizer.nesterov},
                            at(snapshot), size);
    } else {
      kernels::mix_and_step(
          mixed,
          kernels::AdamStep<T>{.g = g.data() + range.begin,
                               .m = at(moment1_.data()),
                               .v = at(moment2_.data()),
                               .learning_rate = static_cast<T>(learning_rate),
                               .beta1 = static_cast<T>(optimizer.beta1),
                               .beta2 = static_cast<T>(optimizer.beta2),
                               .epsilon = static_cast<T>(optimizer.epsilon),
                               .decay = static_cast<T>(range.decay),
                               .correction1 = static_cast<T>(1 - std::pow(optimizer.beta1, steps)),
                               .correction2 = static_cast<T>(1 - std::pow(optimizer.beta2, steps)),
                               .decoupled = optimizer.kind == OptimizerKind::adamw},
          at(snapshot), size);
    }
  }
}

template <class T>
void BasicWorker<T>::offer(double t, std::span<T> out) {
  const T c = advance(t);
  kernels::mix_and_copy(kernels::Mixed<T>{x_.data(), tilde(), c}, out.data(), x_.size());
}

template <class T>
void BasicWorker<T>::apply(double t, double t_offer, std::span<const T> own,
                           std::span<const T> partner) {
  const ApplySteps steps = apply_steps(settings_->mixing, t - t_offer);
  const T c = advance(t);
  ++updates_;
  kernels::mix_and_apply(kernels::Mixed<T>{x_.data(), tilde(), c}, own.data(), partner.data(),
                         static_cast<T>(steps.x), static_cast<T>(steps.x_tilde), x_.size());
}

template <class T>
void BasicWorker<T>::assign(double t, std::span<const T> values) {
  ACID_ASSERT(tilde() == nullptr, "assign to a worker with a momentum copy at {}", t);
  advance(t);
  ++updates_;
  std::copy(values.begin(), values.end(), x_.data());
}

template <class T>
void BasicWorker<T>::finish(double t_end) {
  const T c = advance(t_end);
  kernels::mix(kernels::Mixed<T>{x_.data(), tilde(), c}, x_.size());
}

template <class T>
void BasicWorker<T>::exchange(BasicWorker& i, BasicWorker& j, double t) {
  exchange(*i.settings_, i.lend(t), j.lend(t));
}

template <class T>
kernels::Mixed<T> BasicWorker<T>::lend(double t) {
  const T c = advance(t);
  ++updates_;
  return {x_.data(), tilde(), c};
}

template <class T>
kernels::Mixed<T> BasicWorker<T>::lent(const WorkerSettings& settings, std::span<T> shared, T c) {
  ACID_ASSERT(shared.size() == shared_size(settings), "{} shared elements", shared.size());
  T* const x = shared.data();
  return {x, settings.mixing.has_momentum() ? x + tilde_offset<T>(settings) : nullptr, c};
}

template <class T>
void BasicWorker<T>::exchange(const WorkerSettings& settings, kernels::Mixed<T> i,
                              kernels::Mixed<T> j) {
  kernels::exchange(i, j, static_cast<T>(settings.mixing.alpha),
                    static_cast<T>(settings.mixing.alpha_tilde), settings.dimension);
}

template <class T>
void BasicWorker<T>::read_at(double t, std::size_t first, std::span<T> out) const {
  const double c = tilde() == nullptr ? 0 : mixing_coefficient(settings_->mixing.eta, t - last_);
  kernels::copy_mixed(x_.data() + first, tilde() == nullptr ? nullptr : tilde() + first,
                      static_cast<T>(c), out.data(), out.size());
}

template class BasicWorker<float>;
template class BasicWorker<double>;

}  // namespace acid
