#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/codecs/codec.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Wraps a rule whose messages go through a codec: every receiver, and the sender itself, uses the
/// projected message. With error feedback a worker keeps what its messages left out.
template <class T>
class CodedRule final : public Rule<T> {
 public:
  CodedRule(std::shared_ptr<const Rule<T>> inner, std::shared_ptr<const Codec> codec,
            bool error_feedback);

  std::span<const Slot> slots() const override { return slots_; }
  std::span<const ScalarSlot> scalars() const override { return scalars_; }
  std::optional<std::size_t> extra_floats() const override {
    if (!codec_->has_gaps()) return std::nullopt;
    return scalars_.size() - 2;
  }
  Message message() const override { return inner_->message(); }
  Extent extent(std::int64_t number, std::size_t dimension) const override {
    return inner_->extent(number, dimension);
  }
  bool varies() const override { return inner_->varies(); }
  bool drifts() const override { return inner_->drifts(); }
  bool point_is_x() const override { return inner_->point_is_x(); }
  bool changes_when_saying() const override {
    return error_feedback_ || inner_->changes_when_saying();
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
  void count_gaps(const WorkerView<T>& worker, const Heard<T>& heard) const;

  const std::shared_ptr<const Rule<T>> inner_;
  const std::shared_ptr<const Codec> codec_;
  const bool error_feedback_;
  std::vector<Slot> slots_;
  std::vector<ScalarSlot> scalars_;  // the last: number of messages said
};

extern template class CodedRule<float>;
extern template class CodedRule<double>;

/// The same rules with a codec. `error_feedback`: what is not sent is added to the next message.
Rules coded(const Rules& rules, const std::shared_ptr<const Codec>& codec, bool error_feedback);

}  // namespace acid
