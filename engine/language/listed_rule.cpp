#include "engine/language/listed_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/language/device_pass.hpp"
#include "engine/language/emitter.hpp"
#include "engine/worker/elements.hpp"
#include "engine/worker/passes.hpp"

namespace acid {
namespace {

Direction direction_of(const OptimizerSettings& optimizer) {
  if (optimizer.kind == OptimizerKind::adam) return Direction::adam;
  if (optimizer.kind == OptimizerKind::adamw) return Direction::adamw;
  if (optimizer.kind == OptimizerKind::muon || optimizer.momentum == 0) return Direction::sgd;
  return optimizer.nesterov ? Direction::nesterov : Direction::momentum;
}

bool is_of_message(NumberInstruction::Source source) {
  using Source = NumberInstruction::Source;
  return source == Source::mean || source == Source::mine || source == Source::theirs;
}

double& hidden(std::vector<double>& numbers, HiddenNumber which) {
  return numbers[static_cast<std::size_t>(which)];
}

// Rounds as the kernels do (optimizer_step, adam_factors).
template <class T>
void set_direction(const OptimizerSettings& optimizer, std::int64_t number,
                   std::vector<double>& numbers) {
  const auto set = [&](HiddenNumber which, T value) {
    hidden(numbers, which) = static_cast<double>(value);
  };
  set(HiddenNumber::momentum, static_cast<T>(optimizer.momentum));
  if (optimizer.kind == OptimizerKind::sgd || optimizer.kind == OptimizerKind::muon) return;
  const auto steps = static_cast<double>(number);
  const auto beta1 = static_cast<T>(optimizer.beta1), beta2 = static_cast<T>(optimizer.beta2);
  set(HiddenNumber::beta1, beta1);
  set(HiddenNumber::rest1, 1 - beta1);
  set(HiddenNumber::beta2, beta2);
  set(HiddenNumber::rest2, 1 - beta2);
  set(HiddenNumber::epsilon, static_cast<T>(optimizer.epsilon));
  set(HiddenNumber::scale, 1 / static_cast<T>(1 - std::pow(optimizer.beta1, steps)));
  set(HiddenNumber::root, 1 / std::sqrt(static_cast<T>(1 - std::pow(optimizer.beta2, steps))));
}

void choose_executor(const WorkerSettings& settings, const ListedPrograms& programs,
                     PartProgram::Variant& variant) {
  const Backend& backend = *settings.backend;
  if (!why_interpreted(backend).empty()) return;
  variant.emitted = backend.is_host_memory();
  if (variant.emitted) return;
  variant.device = &backend;
  variant.sources = settings.degrees.size();
  programs.prepare(variant);
}

}  // namespace

// An event of a worker: the arguments for the part to execute.
template <class T>
struct ListedRule<T>::Event {
  const WorkerView<T>& worker;
  StepSize size = {};
  const T* gradient = nullptr;
  T* next_point = nullptr;
  T* said = nullptr;
  const Heard<T>* heard = nullptr;
  double exchange = 0;  // its number
  T* model = nullptr;   // elements [first, first + count) of it
  std::size_t first = 0, count = 0;
};

// The part of the vectors on which a say or hear works; other events work on all of them.
template <class T>
Extent ListedRule<T>::extent_of(const Event& event) const {
  const std::size_t dimension = event.worker.settings.dimension;
  if (event.said == nullptr && event.heard == nullptr) return {programs_->message, dimension};
  return extent(static_cast<std::int64_t>(event.exchange) - 1, dimension);
}

// For rounds: whether the say or hear comes before its leg's step; then it has that step's rate.
template <class T>
bool ListedRule<T>::is_before_step(const Event& event) const {
  if (event.said == nullptr && event.heard == nullptr) return false;
  const auto& [says, hears] = programs_->before_step;
  const auto& before = event.said != nullptr ? says : hears;
  return !before.empty() && before[static_cast<std::size_t>(event.exchange - 1) % before.size()];
}

template <class T>
void ListedRule<T>::compute_numbers(const PartProgram& part, std::size_t stage, const Event& event,
                                    const std::vector<double>& sums,
                                    std::vector<double>& numbers) const {
  using Source = NumberInstruction::Source;
  const WorkerView<T>& worker = event.worker;
  const Extent extent = extent_of(event);
  const double* const kept = worker.scalars;
  const auto event_number = [&](EventNumber which) -> double {
    switch (which) {
      case EventNumber::learning_rate:
        if (event.size.number > 0) return event.size.learning_rate;
        return is_before_step(event) || kept[kGradients] == 0
                   ? worker.settings.planned_rate(static_cast<std::int64_t>(kept[kGradients]) + 1)
                   : kept[kRate];
      case EventNumber::gradients:
        return event.size.number > 0 ? static_cast<double>(event.size.number) : kept[kGradients];
      case EventNumber::exchange:
        return event.exchange;
      case EventNumber::staleness:
        return event.size.number > 0 ? static_cast<double>(event.size.staleness) : kept[kStaleness];
      case EventNumber::workers:
        return static_cast<double>(std::max<std::size_t>(1, worker.settings.degrees.size()));
      case EventNumber::degree:
        return worker.settings.degrees.empty() ? 0 : worker.settings.degrees[worker.number];
      case EventNumber::worker:
        return worker.number;
      default:
        return event.heard == nullptr ? 0 : event.heard->late;
    }
  };
  const Extent of_theirs = programs_->listing->peers == Peers::server
                               ? Extent(programs_->theirs, worker.settings.dimension)
                               : extent;
  const auto of_source = [&](std::size_t source, const Extent& form, std::size_t index) {
    const kernels::Weighted<T> one{event.heard->sources[source].x, 0};
    return heard_number<T>(form, {.sources = {&one, 1}}, index);
  };
  const auto value = [&](const NumberInstruction& one) -> double {
    const Extent& heard = one.source == Source::theirs ? of_theirs : extent;
    if (is_of_message(one.source) && (heard.scalars >> one.index & 1) == 0) return 0;  // not sent
    switch (one.source) {
      case Source::operation:
        return compute(one.operation, numbers[one.a], numbers[one.b], numbers[one.c]);
      case Source::literal:
        return one.literal;
      case Source::event:
        return event_number(static_cast<EventNumber>(one.index));
      case Source::kept:
        return kept[kKept + one.index];
      case Source::mean:
        return heard_number(extent, *event.heard, one.index);
      case Source::mine:
        return of_source(0, extent, one.index);
      case Source::theirs:
        return of_source(1, of_theirs, one.index);
      case Source::reduction:
        return sums[one.index];
      case Source::root:
        return std::sqrt(sums[one.index]);
    }
    return 0;
  };
  const PartProgram::Stage& of = part.stage(stage);
  for (std::size_t k = of.first; k < of.last; ++k) numbers[k] = value(part.numbers()[k]);
}

template <class T>
PassMemory<T> ListedRule<T>::memory_of(const Event& event, const Extent& extent) const {
  const WorkerView<T>& worker = event.worker;
  // On a device, interpret() would move pages.
  const bool is_here = worker.settings.backend->is_host_memory();
  PassMemory<T> memory{.gradient = kernels::from(const_cast<T*>(event.gradient), extent.first),
                       .at = worker.snapshot(),
                       .moment = {worker.moment(0), worker.moment(1)},
                       .heard = event.heard,
                       .said = event.said,
                       .point = event.next_point,
                       .model = event.model,
                       .model_first = event.first,
                       .dimension = extent.size(),
                       .kernels = is_here ? &worker.kernels() : &cpu_backend().kernels<T>()};
  memory.state[0] = worker.x + extent.first;
  for (std::size_t k = 0; k < programs_->slots.size(); ++k)
    memory.state[k + 1] = worker.slot(k) + extent.first;
  return memory;
}

template <class T>
void ListedRule<T>::execute(const PartProgram& part, const Event& event) const {
  const WorkerView<T>& worker = event.worker;
  const WorkerSettings& settings = worker.settings;
  const Listing& listing = *programs_->listing;
  const Extent extent = extent_of(event);
  std::vector<double> numbers(part.numbers().size()), sums;
  PartProgram::Variant variant{.direction = direction_of(settings.optimizer),
                               .result = event.next_point != nullptr || event.model != nullptr};
  if constexpr (std::is_same_v<T, float>) choose_executor(settings, *programs_, variant);
  if (listing.between) {
    hidden(numbers, HiddenNumber::drift) =
        -0.5 * std::expm1(-2 * programs_->mix_rate * worker.elapsed);
    variant.drifts = hidden(numbers, HiddenNumber::drift) != 0;
  }
  if (part.uses_direction()) set_direction<T>(settings.optimizer, event.size.number, numbers);
  if (variant.emitted && event.heard != nullptr)
    variant.sources = EmittedPass::sources_of(*event.heard);
  variant.streams =
      variant.emitted && event.said != nullptr && EmittedPass::streams(event.said, extent.size());
  variant.sent = extent.vectors;
  const PassMemory<T> memory = memory_of(event, extent);
  for (std::size_t stage = 0; stage < part.stages(); ++stage) {
    compute_numbers(part, stage, event, sums, numbers);
    const PartProgram::Stage& of = part.stage(stage);
    sums.assign(of.reductions, 0.0);
    variant.holds = 0;
    for (std::size_t k = 0; k < of.conditions.size(); ++k)
      if (numbers[of.conditions[k]] != 0) variant.holds |= std::uint64_t{1} << k;
    const ExecutablePass& executable = part.pass(stage, variant);
    if (executable.pass.is_empty()) continue;
    std::vector<std::vector<double>> blocks(of.reductions);
    for (std::vector<double>& one : blocks)
      one.resize((extent.size() + kReductionBlock - 1) / kReductionBlock);
    const auto run = [&](std::size_t first, std::size_t last) {
      if constexpr (std::is_same_v<T, float>)
        if (executable.code != nullptr)
          return executable.code->run(memory, numbers, settings.decay, first, last, blocks);
      interpret<T>(executable.pass, memory, numbers, settings.decay, first, last, blocks);
    };
    if (event.model != nullptr) {
      run(event.first, event.first + event.count);
      continue;
    }
    in_parts(settings, extent.size(), [&](std::size_t first, std::size_t size) {
      const auto whole = [&](std::size_t end) {  // rounds up to a block of a reduction
        return end == extent.size() ? end : end / kReductionBlock * kReductionBlock;
      };
      run(whole(first), whole(first + size));
    });
    for (std::size_t k = 0; k < blocks.size(); ++k)
      for (const double block : blocks[k]) sums[k] += block;
  }
  for (const auto& [slot, number] : part.kept()) worker.scalars[kKept + slot] = numbers[number];
  if (event.said != nullptr)
    for (const auto& [index, number] : part.said())
      if ((extent.scalars >> index & 1) != 0)
        say_number(extent, index, numbers[number], event.said);
}

template <class T>
void ListedRule<T>::advance(const WorkerView<T>& worker) const {
  if (drifts()) execute(programs_->advance, {.worker = worker});
}

template <class T>
void ListedRule<T>::point(const WorkerView<T>& worker, T* out) const {
  if (!drifts() && programs_->point_is_x) return Rule<T>::point(worker, out);
  execute(programs_->point,
          {.worker = worker, .next_point = out, .exchange = worker.scalars[kExchange]});
}

template <class T>
void ListedRule<T>::step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
                         T* next_point) const {
  execute(programs_->step, {.worker = worker,
                            .size = size,
                            .gradient = gradient,
                            .next_point = next_point,
                            .exchange = worker.scalars[kExchange]});
  worker.scalars[kRate] = size.learning_rate;
  worker.scalars[kGradients] = static_cast<double>(size.number);
  worker.scalars[kStaleness] = static_cast<double>(size.staleness);
}

// A message that is said again after a checkpoint keeps its number: only a say that is never
// repeated, or a hear, counts.
template <class T>
void ListedRule<T>::say(const WorkerView<T>& worker, T* out) const {
  const double exchange =
      worker.scalars[programs_->exchange_at] + (programs_->listing->is_server() ? 0 : 1);
  execute(programs_->say,
          {.worker = worker, .gradient = worker.gradient(), .said = out, .exchange = exchange});
  if (programs_->changes_when_saying) worker.scalars[programs_->exchange_at] = exchange;
}

template <class T>
void ListedRule<T>::hear(const WorkerView<T>& worker, const Heard<T>& heard) const {
  if (heard.arrival != nullptr) {
    worker.scalars[kRate] = heard.arrival->learning_rate;
    worker.scalars[kGradients] = static_cast<double>(heard.arrival->number);
    worker.scalars[kStaleness] = static_cast<double>(heard.arrival->staleness);
  }
  const double exchange =
      worker.scalars[programs_->exchange_at] + (programs_->changes_when_saying ? 0 : 1);
  execute(programs_->hear,
          {.worker = worker, .gradient = worker.gradient(), .heard = &heard, .exchange = exchange});
  worker.scalars[programs_->exchange_at] = exchange;
}

template <class T>
void ListedRule<T>::read(const WorkerView<T>& worker, const Heard<T>* pending, std::size_t first,
                         T* out, std::size_t size) const {
  const double exchange = worker.scalars[kExchange];
  const bool counts = pending != nullptr && !programs_->changes_when_saying;
  execute(pending == nullptr ? programs_->read : programs_->read_after_hearing,
          {.worker = worker,
           .gradient = worker.gradient(),
           .heard = pending,
           .exchange = exchange + (counts ? 1 : 0),
           .model = out,
           .first = first,
           .count = size});
}

template class ListedRule<float>;
template class ListedRule<double>;

}  // namespace acid
