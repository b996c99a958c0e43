#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/codecs/codec.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Another rule whose messages go through a codec: what it says is what receivers get of it, the
/// worker itself too. With error feedback a worker keeps what its messages have left out.
template <class T>
class CodedRule final : public Rule<T> {
 public:
  CodedRule(std::shared_ptr<const Rule<T>> inner, const Codec& codec);

  std::span<const Slot> slots() const override { return slots_; }
  std::span<const ScalarSlot> scalars() const override { return scalars_; }
  Message message() const override { return inner_->message(); }
  Extent extent(std::int64_t number, std::size_t dimension) const override {
    return inner_->extent(number, dimension);
  }
  bool varies() const override { return inner_->varies(); }
  bool drifts() const override { return inner_->drifts(); }
  bool point_is_x() const override { return inner_->point_is_x(); }
  bool changes_when_saying() const override {
    return codec_.error_feedback || inner_->changes_when_saying();
  }
  bool changes_gradient() const override { return inner_->changes_gradient(); }
  bool steps_by_optimizer() const override { return inner_->steps_by_optimizer(); }
  bool meets_in_place() const override { return false; }

  void advance(const WorkerView<T>& worker) const override { inner_->advance(worker); }
  void point(const WorkerView<T>& worker, T* out) const override { inner_->point(worker, out); }
  void step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
            T* next_point) const override {
    inner_->step(worker, size, gradient, next_point);
  }
  void say(const WorkerView<T>& worker, T* out) const override;
  void hear(const WorkerView<T>& worker, const Heard<T>& heard) const override;
  void meet(const WorkerView<T>& i, const WorkerView<T>& j) const override {
    meet_by_messages<T>(*this, i, j);
  }
  void read(const WorkerView<T>& worker, const Heard<T>* pending, std::size_t first, T* out,
            std::size_t size) const override {
    inner_->read(worker, pending, first, out, size);
  }

 private:
  void count_sent_again(const WorkerView<T>& worker, const Heard<T>& heard) const;

  const std::shared_ptr<const Rule<T>> inner_;
  const Codec codec_;
  std::vector<Slot> slots_;
  std::vector<ScalarSlot> scalars_;  // the last: messages said before; see also floats_sent_again
};

extern template class CodedRule<float>;
extern template class CodedRule<double>;

/// Floats that a worker with these numbers has heard once more, as they are (Codec::sent_again): in
/// graphs of one-way edges only the sum over all workers is what they have sent.
std::int64_t floats_sent_again(const Codec& codec, std::span<const double> scalars);

/// The number of the message, from 0, that a worker with these numbers has said and not heard yet.
std::uint64_t message_on_its_way(const Rules& coded, std::span<const double> scalars);

/// The same methods with a codec.
Rules coded(const Rules& rules, const Codec& codec);

}  // namespace acid
