#include "engine/worker/rule.hpp"

#include <array>
#include <cmath>
#include <cstring>

#include "engine/base/error.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/elements.hpp"
#include "engine/worker/passes.hpp"
#include "engine/worker/worker_memory.hpp"

namespace acid {
namespace {

using kernels::from;

template <class T, class Step>
using StepKernel = void (*)(kernels::Mixed<T>, const Step&, T* next_point, std::size_t size);

template <class T, class Step>
void step_by(const WorkerView<T>& worker, StepKernel<T, Step> kernel, Step by,
             const kernels::Mixed<T>& mixed, T* next_point) {
  for (const DecayRange& range : worker.settings.decay) {
    by.decay = static_cast<T>(range.decay);
    in_parts(worker.settings, range.end - range.begin, [&](std::size_t part, std::size_t size) {
      const std::size_t first = range.begin + part;
      kernel(from(mixed, first), from(by, first), from(next_point, first), size);
    });
  }
}

}  // namespace

template <class T>
T* WorkerView<T>::slot(std::size_t index) const {
  return WorkerLayout<T>(settings).slot(x, own, index);
}

template <class T>
const kernels::Table<T>& WorkerView<T>::kernels() const {
  return settings.backend->template kernels<T>();
}

template <class T>
T* WorkerView<T>::moment(std::size_t which) const {
  return WorkerLayout<T>(settings).moment(own, which);
}

template <class T>
T* WorkerView<T>::gradient() const {
  return own == nullptr ? nullptr : WorkerLayout<T>(settings).gradient(own);
}

template <class T>
const T* WorkerView<T>::snapshot() const {
  return own == nullptr ? nullptr : WorkerLayout<T>(settings).snapshot(own);
}

template <class T>
void optimizer_step(const WorkerView<T>& worker, const OptimizerSettings& optimizer, T* m, T* v,
                    const StepSize& size, const T* gradient, const kernels::Mixed<T>& mixed,
                    T* next_point) {
  const auto rate = static_cast<T>(size.learning_rate);
  const bool muon = optimizer.kind == OptimizerKind::muon;  // its momentum is in the gradient
  if (muon || optimizer.kind == OptimizerKind::sgd)
    return step_by(worker, worker.kernels().mix_and_sgd,
                   kernels::SgdStep<T>{.g = gradient,
                                       .m = muon ? nullptr : m,
                                       .learning_rate = rate,
                                       .momentum = static_cast<T>(optimizer.momentum),
                                       .decay = 0,  // each range has its own
                                       .nesterov = optimizer.nesterov},
                   mixed, next_point);
  const auto steps = static_cast<double>(size.number);
  step_by(worker, worker.kernels().mix_and_adam,
          kernels::AdamStep<T>{.g = gradient,
                               .m = m,
                               .v = v,
                               .learning_rate = rate,
                               .beta1 = static_cast<T>(optimizer.beta1),
                               .beta2 = static_cast<T>(optimizer.beta2),
                               .epsilon = static_cast<T>(optimizer.epsilon),
                               .decay = 0,
                               .correction1 = static_cast<T>(1 - std::pow(optimizer.beta1, steps)),
                               .correction2 = static_cast<T>(1 - std::pow(optimizer.beta2, steps)),
                               .decoupled = optimizer.kind == OptimizerKind::adamw},
          mixed, next_point);
}

template <class T>
void local_step(const WorkerView<T>& worker, const StepSize& size, const T* gradient, T* x_tilde,
                T c, T* next_point) {
  optimizer_step<T>(worker, worker.settings.optimizer, worker.moment(0), worker.moment(1), size,
                    gradient, {worker.x, x_tilde, c}, next_point);
}

template <class T>
void heard_mean(const WorkerView<T>& worker, const Heard<T>& heard, std::size_t index, T* out) {
  const std::size_t begin = index * worker.settings.dimension;
  if (heard.mean != nullptr) return copy_vector(worker, heard.mean + begin, out);
  in_parts(worker.settings, worker.settings.dimension, [&](std::size_t first, std::size_t size) {
    worker.kernels().weighted_mean(heard.sources.data(), heard.sources.size(), begin + first,
                                   out + first, size);
  });
}

template <class T>
void copy_vector(const WorkerView<T>& worker, const T* vector, T* out) {
  in_parts(worker.settings, worker.settings.dimension, [&](std::size_t first, std::size_t size) {
    worker.kernels().copy(vector + first, out + first, size);
  });
}

template <class T>
void scale_vector(const WorkerView<T>& worker, const T* vector, double factor, T* out) {
  in_parts(worker.settings, worker.settings.dimension, [&](std::size_t first, std::size_t size) {
    worker.kernels().scale(vector + first, static_cast<T>(factor), out + first, size);
  });
}

template <class T>
void add_vector(const WorkerView<T>& worker, const T* vector, double weight, T* out) {
  in_parts(worker.settings, worker.settings.dimension, [&](std::size_t first, std::size_t size) {
    worker.kernels().add_scaled(vector + first, static_cast<T>(weight), out + first, size);
  });
}

template <class T>
void say_number(const Extent& extent, std::size_t index, double value, T* out) {
  std::memcpy(out + extent.scalar_at(index), &value, sizeof value);
}

template <class T>
double heard_number(const Extent& extent, const Heard<T>& heard, std::size_t index) {
  ACID_ASSERT(heard.mean == nullptr, "an all-reduce does not carry numbers");
  const auto number = [&](const kernels::Weighted<T>& source) {
    double value = 0;
    std::memcpy(&value, source.x + extent.scalar_at(index), sizeof value);
    return value;
  };
  const auto weight = [](const kernels::Weighted<T>& source) {
    return static_cast<double>(static_cast<T>(source.weight));  // that of the vectors
  };
  const double own = number(heard.sources[0]);
  double sum = weight(heard.sources[0]) * own;
  for (const kernels::Weighted<T>& source : heard.sources.subspan(1))
    sum += kernels::pull_element(own, number(source), weight(source));
  return own + sum;
}

template <class T>
void meet_by_messages(const Rule<T>& rule, const WorkerView<T>& i, const WorkerView<T>& j) {
  const std::size_t size = rule.message().floats(i.settings.dimension);
  struct Messages {
    const Backend* backend = nullptr;
    Arena<T> of[2];
  };
  thread_local Messages messages;
  if (messages.backend != i.settings.backend || messages.of[0].size() < size) {
    messages.backend = i.settings.backend;
    for (Arena<T>& one : messages.of) one = Arena<T>(size, *i.settings.backend);
  }
  T *const of_i = messages.of[0].data(), *const of_j = messages.of[1].data();
  rule.say(i, of_i);
  rule.say(j, of_j);
  const auto hear = [&](WorkerView<T> worker, const T* own, const T* partner) {
    worker.elapsed = 0;
    const std::array<kernels::Weighted<T>, 2> offers{{{own, 0}, {partner, 0.5}}};
    rule.hear(worker, {.sources = offers});
  };
  hear(i, of_i, of_j);
  hear(j, of_j, of_i);
}

// By way of the kernel that knows when a copy is better written past the caches.
template <class T>
void Rule<T>::point(const WorkerView<T>& worker, T* out) const {
  in_parts(worker.settings, worker.settings.dimension, [&](std::size_t first, std::size_t size) {
    worker.kernels().mix_and_copy({worker.x + first, nullptr, 0}, out + first, size);
  });
}

template <class T>
void Rule<T>::advance(const WorkerView<T>&) const {}

template <class T>
void Rule<T>::step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
                   T* next_point) const {
  local_step<T>(worker, size, gradient, nullptr, T(0), next_point);
}

template <class T>
void Rule<T>::say(const WorkerView<T>& worker, T* out) const {
  Rule::point(worker, out);
}

template <class T>
void Rule<T>::hear(const WorkerView<T>& worker, const Heard<T>& heard) const {
  heard_mean(worker, heard, 0, worker.x);
}

template <class T>
void Rule<T>::meet(const WorkerView<T>&, const WorkerView<T>&) const {
  ACID_ASSERT(false, "a method of rounds has no meetings");
}

template <class T>
void Rule<T>::read(const WorkerView<T>& worker, const Heard<T>*, std::size_t first, T* out,
                   std::size_t size) const {
  worker.kernels().copy(worker.x + first, out, size);
}

#define ACID_RULE_OF(T)                                                                       \
  template struct WorkerView<T>;                                                              \
  template class Rule<T>;                                                                     \
  template void local_step(const WorkerView<T>&, const StepSize&, const T*, T*, T, T*);       \
  template void optimizer_step(const WorkerView<T>&, const OptimizerSettings&, T*, T*,        \
                               const StepSize&, const T*, const kernels::Mixed<T>&, T*);      \
  template void heard_mean(const WorkerView<T>&, const Heard<T>&, std::size_t, T*);           \
  template void copy_vector(const WorkerView<T>&, const T*, T*);                              \
  template void scale_vector(const WorkerView<T>&, const T*, double, T*);                     \
  template void add_vector(const WorkerView<T>&, const T*, double, T*);                       \
  template void meet_by_messages(const Rule<T>&, const WorkerView<T>&, const WorkerView<T>&); \
  template void say_number(const Extent&, std::size_t, double, T*);                           \
  template double heard_number(const Extent&, const Heard<T>&, std::size_t);
ACID_RULE_OF(float)
ACID_RULE_OF(double)
#undef ACID_RULE_OF

}  // namespace acid
