#include "engine/worker/worker.hpp"

#include <algorithm>
#include <array>

#include "engine/base/error.hpp"
#include "engine/worker/direction.hpp"

namespace acid {

template <class T>
std::span<const T> WorkerVectors<T>::slot(std::string_view name) const {
  for (std::size_t k = 0; k < slots(); ++k)
    if (settings_->slots[k].name == name) return slot(k);
  return {};
}

template <class T>
void BasicWorker<T>::start(std::span<const T> x0, std::span<const float> buffers) {
  const kernels::Table<T>& kernels = settings_->backend->template kernels<T>();
  kernels.copy(x0.data(), x_, x0.size());
  for (std::size_t k = 0; k < settings_->slots.size(); ++k) {
    const Slot& slot = settings_->slots[k];
    T* const values = layout().slot(x_, own_, k);
    if (slot.start == Slot::Start::x)
      kernels.copy(x0.data(), values, x0.size());
    else if (slot.value != 0)
      std::fill_n(values, x0.size(), static_cast<T>(slot.value));
  }
  for (std::size_t k = 0; k < settings_->scalars; ++k) scalars_[k] = rule().scalars()[k].start;
  this->backend().template kernels<float>().copy(buffers.data(), buffers_at(0).data(),
                                                 buffers.size());
}

template <class T>
WorkerView<T> BasicWorker<T>::at(double t) const {
  ACID_ASSERT(t >= last_, "event at {} after one at {}", t, last_);
  return {*settings_, x_, own_, scalars_, t - last_, number_};
}

template <class T>
WorkerView<T> BasicWorker<T>::advance(double t) {
  const WorkerView<T> view = at(t);
  last_ = t;
  return view;
}

template <class T>
void BasicWorker<T>::begin_gradient(double t) {
  const WorkerView<T> view = advance(t);
  if (T* const snapshot = layout().snapshot(own_))
    rule().point(view, snapshot);
  else
    rule().advance(view);
  take_snapshot_notes();
}

template <class T>
void BasicWorker<T>::take_snapshot_notes() {
  updates_since_snapshot_ = 0;
  restart_gradient();
}

template <class T>
void BasicWorker<T>::restart_gradient() {
  const std::span<float> to = this->gradient_buffers();
  this->backend().template kernels<float>().copy(this->buffers().data(), to.data(), to.size());
}

template <class T>
void BasicWorker<T>::commit_gradient(double t, std::span<const T> g, double learning_rate,
                                     bool begin_next) {
  ++gradients_;
  staleness_ = updates_since_snapshot_++;
  WorkerView<T> view = advance(t);
  if (settings_->decays_own_model()) {
    rule().advance(view);  // before the model shrinks
    view.elapsed = 0;
    shrink_model(view, learning_rate);
  }
  rule().step(view, {learning_rate, gradients_, staleness_}, direction_of(view, g.data()),
              begin_next ? layout().snapshot(own_) : nullptr);
  const std::span<float> current = buffers_at(0);
  this->backend().template kernels<float>().copy(this->gradient_buffers().data(), current.data(),
                                                 current.size());
  if (begin_next) take_snapshot_notes();
}

template <class T>
void BasicWorker<T>::say_by(const Rule<T>& rule, double t, std::span<T> out) {
  rule.say(advance(t), out.data());
}

template <class T>
void BasicWorker<T>::apply(double t, double t_offer, std::span<const T> own_offer,
                           std::span<const T> partner) {
  const std::array<kernels::Weighted<T>, 2> offers{{{own_offer.data(), 0}, {partner.data(), 0.5}}};
  hear(t, {.sources = offers, .late = t - t_offer});
}

template <class T>
void BasicWorker<T>::hear_by(const Rule<T>& rule, double t, const Heard<T>& heard) {
  ++updates_since_snapshot_;
  rule.hear(advance(t), heard);
}

template <class T>
void BasicWorker<T>::finish(double t_end) {
  rule().advance(advance(t_end));
}

template <class T>
void BasicWorker<T>::exchange(BasicWorker& i, BasicWorker& j, double t) {
  ++i.updates_since_snapshot_;
  ++j.updates_since_snapshot_;
  i.rule().meet(i.advance(t), j.advance(t));
}

template <class T>
double BasicWorker<T>::lend(double t) {
  ++updates_since_snapshot_;
  return advance(t).elapsed;
}

template <class T>
void BasicWorker<T>::exchange_with(std::span<T> partner, double partner_elapsed, double t) {
  ++updates_since_snapshot_;
  rule().meet(advance(t), {*settings_, partner.data(), nullptr, nullptr, partner_elapsed});
}

template <class T>
void BasicWorker<T>::read_at(double t, std::size_t first, std::span<T> out,
                             const Heard<T>* pending) const {
  rule().read(at(t), pending, first, out.data(), out.size());
}

template class WorkerVectors<float>;
template class WorkerVectors<double>;
template class BasicWorker<float>;
template class BasicWorker<double>;

}  // namespace acid
