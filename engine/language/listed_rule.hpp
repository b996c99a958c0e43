#pragma once

#include <memory>
#include <vector>

#include "engine/language/interpreter.hpp"
#include "engine/language/listed_programs.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// A listing as a rule. Its parts are executed by emitted machine code, by compiled kernels, or by
/// interpret().
template <class T>
class ListedRule final : public Rule<T> {
 public:
  explicit ListedRule(std::shared_ptr<const ListedPrograms> programs)
      : programs_(std::move(programs)) {}

  std::span<const Slot> slots() const override { return programs_->slots; }
  std::span<const ScalarSlot> scalars() const override { return programs_->numbers; }
  Message message() const override { return programs_->message; }
  Extent extent(std::int64_t number, std::size_t dimension) const override {
    return programs_->extent(number, dimension);
  }
  bool varies() const override { return programs_->varies; }
  bool drifts() const override { return programs_->listing->between.has_value(); }
  bool point_is_x() const override { return programs_->point_is_x; }
  bool changes_when_saying() const override { return programs_->changes_when_saying; }
  bool changes_gradient() const override { return programs_->changes_gradient; }
  bool steps_by_optimizer() const override { return programs_->step.uses_direction(); }
  bool meets_in_place() const override { return programs_->meets_at_once && !programs_->notes; }

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
  struct Event;
  Extent extent_of(const Event& event) const;
  bool is_before_step(const Event& event) const;
  PassMemory<T> memory_of(const Event& event, const Extent& extent) const;
  void execute(const PartProgram& part, const Event& event) const;
  bool meet_at_once(const WorkerView<T>& i, const WorkerView<T>& j) const;
  void compute_numbers(const PartProgram& part, std::size_t stage, const Event& event,
                       const std::vector<double>& sums, std::span<double> numbers) const;
  void note(const WorkerView<T>& worker, const StepSize& step) const;
  double exchange_of(const WorkerView<T>& worker) const {
    return programs_->notes ? worker.scalars[programs_->exchange_at] : 0;
  }
  void count_exchange(const WorkerView<T>& worker, double exchange) const {
    if (programs_->notes) worker.scalars[programs_->exchange_at] = exchange;
  }

  const std::shared_ptr<const ListedPrograms> programs_;
};

extern template class ListedRule<float>;
extern template class ListedRule<double>;

}  // namespace acid
