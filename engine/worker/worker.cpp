#include "engine/worker/worker.hpp"

#include <cmath>

#include "engine/base/error.hpp"
#include "engine/worker/elements.hpp"
#include "engine/worker/team.hpp"

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

using kernels::from;

// Splits one pass over vectors of `size` elements among the threads of a worker.
template <class Pass>
void in_parts(const WorkerSettings& settings, std::size_t size, const Pass& pass) {
  if (settings.threads == 1 || !settings.backend->is_host_memory())
    pass(std::size_t{0}, size);
  else
    team_of_this_thread().run(settings.threads, size, pass);
}

}  // namespace

template <class T>
void BasicWorker<T>::start(std::span<const T> x0, std::span<const float> buffers) {
  kernels().copy(x0.data(), x_, x0.size());
  if (T* const x_tilde = tilde()) kernels().copy(x0.data(), x_tilde, x0.size());
  backend().template kernels<float>().copy(buffers.data(), buffers_at(0).data(), buffers.size());
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
  const kernels::Mixed<T> mixed{x_, tilde(), advance(t)};
  if (T* const snapshot = own(kSnapshot).data())
    in_parts(*settings_, dimension(), [&](std::size_t first, std::size_t size) {
      kernels().mix_and_copy(from(mixed, first), snapshot + first, size);
    });
  else if (mixed.x_tilde != nullptr)
    mix(mixed);
  take_snapshot_notes();
}

template <class T>
void BasicWorker<T>::take_snapshot_notes() {
  snapshot_updates_ = updates_;
  restart_gradient();
}

template <class T>
void BasicWorker<T>::restart_gradient() {
  const std::span<float> to = gradient_buffers();
  backend().template kernels<float>().copy(buffers().data(), to.data(), to.size());
}

template <class T>
void BasicWorker<T>::commit_gradient(double t, std::span<const T> g, double learning_rate,
                                     bool begin_next) {
  ++gradients_;
  staleness_ = updates_ - snapshot_updates_;
  ++updates_;
  step(advance(t), g, learning_rate, begin_next ? own(kSnapshot).data() : nullptr);
  const std::span<float> current = buffers_at(0);
  backend().template kernels<float>().copy(gradient_buffers().data(), current.data(),
                                           current.size());
  if (begin_next) take_snapshot_notes();
}

template <class T>
void BasicWorker<T>::step(T c, std::span<const T> g, double learning_rate, T* snapshot) {
  const OptimizerSettings& optimizer = settings_->optimizer;
  const auto rate = static_cast<T>(learning_rate);
  if (optimizer.kind == OptimizerKind::sgd)
    return step_by(kernels().mix_and_sgd,
                   kernels::SgdStep<T>{.g = g.data(),
                                       .m = own(kMoment1).data(),
                                       .learning_rate = rate,
                                       .momentum = static_cast<T>(optimizer.momentum),
                                       .decay = 0,  // each range has its own
                                       .nesterov = optimizer.nesterov},
                   c, snapshot);
  const auto steps = static_cast<double>(gradients_);
  step_by(kernels().mix_and_adam,
          kernels::AdamStep<T>{.g = g.data(),
                               .m = own(kMoment1).data(),
                               .v = own(kMoment2).data(),
                               .learning_rate = rate,
                               .beta1 = static_cast<T>(optimizer.beta1),
                               .beta2 = static_cast<T>(optimizer.beta2),
                               .epsilon = static_cast<T>(optimizer.epsilon),
                               .decay = 0,
                               .correction1 = static_cast<T>(1 - std::pow(optimizer.beta1, steps)),
                               .correction2 = static_cast<T>(1 - std::pow(optimizer.beta2, steps)),
                               .decoupled = optimizer.kind == OptimizerKind::adamw},
          c, snapshot);
}

template <class T>
template <class Step>
void BasicWorker<T>::step_by(StepKernel<Step> kernel, Step by, T c, T* snapshot) {
  const kernels::Mixed<T> mixed{x_, tilde(), c};
  for (const DecayRange& range : settings_->decay) {
    by.decay = static_cast<T>(range.decay);
    in_parts(*settings_, range.end - range.begin, [&](std::size_t part, std::size_t size) {
      const std::size_t first = range.begin + part;
      kernel(from(mixed, first), from(by, first), from(snapshot, first), size);
    });
  }
}

template <class T>
void BasicWorker<T>::offer(double t, std::span<T> out) {
  const kernels::Mixed<T> mixed{x_, tilde(), advance(t)};
  in_parts(*settings_, dimension(), [&](std::size_t first, std::size_t size) {
    kernels().mix_and_copy(from(mixed, first), out.data() + first, size);
  });
}

template <class T>
void BasicWorker<T>::apply(double t, double t_offer, std::span<const T> own_offer,
                           std::span<const T> partner) {
  const ApplySteps steps = apply_steps(settings_->mixing, t - t_offer);
  const kernels::Mixed<T> mixed{x_, tilde(), advance(t)};
  ++updates_;
  in_parts(*settings_, dimension(), [&](std::size_t first, std::size_t size) {
    kernels().mix_and_apply(from(mixed, first), own_offer.data() + first, partner.data() + first,
                            static_cast<T>(steps.x), static_cast<T>(steps.x_tilde), size);
  });
}

template <class T>
void BasicWorker<T>::assign(double t, std::span<const T> values) {
  ACID_ASSERT(tilde() == nullptr, "assign to a worker with a momentum copy at {}", t);
  advance(t);
  ++updates_;
  in_parts(*settings_, dimension(), [&](std::size_t first, std::size_t size) {
    kernels().copy(values.data() + first, x_ + first, size);
  });
}

template <class T>
void BasicWorker<T>::mix(const kernels::Mixed<T>& mixed) {
  in_parts(*settings_, dimension(),
           [&](std::size_t first, std::size_t size) { kernels().mix(from(mixed, first), size); });
}

template <class T>
void BasicWorker<T>::finish(double t_end) {
  mix({x_, tilde(), advance(t_end)});
}

template <class T>
void BasicWorker<T>::exchange(BasicWorker& i, BasicWorker& j, double t) {
  exchange(*i.settings_, i.lend(t), j.lend(t));
}

template <class T>
kernels::Mixed<T> BasicWorker<T>::lend(double t) {
  const T c = advance(t);
  ++updates_;
  return {x_, tilde(), c};
}

template <class T>
kernels::Mixed<T> BasicWorker<T>::lent(const WorkerSettings& settings, std::span<T> shared, T c) {
  ACID_ASSERT(shared.size() == shared_size(settings), "{} shared elements", shared.size());
  T* const x = shared.data();
  const bool has_tilde = settings.mixing.has_momentum();
  return {x, has_tilde ? x + WorkerLayout<T>(settings).stride() : nullptr, c};
}

template <class T>
void BasicWorker<T>::exchange(const WorkerSettings& settings, kernels::Mixed<T> i,
                              kernels::Mixed<T> j) {
  in_parts(settings, settings.dimension, [&](std::size_t first, std::size_t size) {
    settings.backend->kernels<T>().exchange(from(i, first), from(j, first),
                                            static_cast<T>(settings.mixing.alpha),
                                            static_cast<T>(settings.mixing.alpha_tilde), size);
  });
}

template <class T>
void BasicWorker<T>::read_at(double t, std::size_t first, std::span<T> out) const {
  const double c = tilde() == nullptr ? 0 : mixing_coefficient(settings_->mixing.eta, t - last_);
  kernels().copy_mixed(x_ + first, from(tilde(), first), static_cast<T>(c), out.data(), out.size());
}

template class BasicWorker<float>;
template class BasicWorker<double>;

}  // namespace acid
