#include "engine/worker/rule.hpp"

#include <array>
#include <cstring>

#include "engine/base/error.hpp"
#include "engine/worker/arena.hpp"
#include "engine/worker/elements.hpp"
#include "engine/worker/worker_memory.hpp"

namespace acid {
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

#define ACID_RULE_OF(T)                                                                       \
  template struct WorkerView<T>;                                                              \
  template void meet_by_messages(const Rule<T>&, const WorkerView<T>&, const WorkerView<T>&); \
  template void say_number(const Extent&, std::size_t, double, T*);                           \
  template double heard_number(const Extent&, const Heard<T>&, std::size_t);
ACID_RULE_OF(float)
ACID_RULE_OF(double)
#undef ACID_RULE_OF

}  // namespace acid
