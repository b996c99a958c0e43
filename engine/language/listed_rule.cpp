#include "engine/language/listed_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/language/device_pass.hpp"
#include "engine/language/emitter.hpp"
#include "engine/worker/elements.hpp"
#include "engine/worker/team.hpp"
#include "engine/worker/worker_memory.hpp"

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

double& hidden(std::span<double> numbers, HiddenNumber which) {
  return numbers[static_cast<std::size_t>(which)];
}

// Rounds the numbers that all elements of a step have in common.
template <class T>
void set_direction(const OptimizerSettings& optimizer, std::int64_t number,
                   std::span<double> numbers) {
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
  static const Backend* const widest = cpu_backend("avx512");
  variant.wide = variant.emitted && &backend == widest;
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
  const WorkerView<T>* partner = nullptr;  // of a meeting in one pass
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
                                    std::span<double> numbers) const {
  using Source = NumberInstruction::Source;
  const WorkerView<T>& worker = event.worker;
  const Extent extent = extent_of(event);
  const double* const kept = worker.scalars;
  const auto event_number = [&](EventNumber which) -> double {
    switch (which) {
      case EventNumber::learning_rate:
        if (event.size.number > 0) return event.size.learning_rate;
        if (!programs_->notes) return 0;
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
        return kept[programs_->kept_at() + one.index];
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
  for (const std::uint16_t k : part.stage(stage).computed) numbers[k] = value(part.numbers()[k]);
}

template <class T>
PassMemory<T> ListedRule<T>::memory_of(const Event& event, const Extent& extent) const {
  const WorkerView<T>& worker = event.worker;
  const WorkerLayout<T> layout(worker.settings);
  // On a device, interpret() would move pages.
  const bool is_here = worker.settings.backend->is_host_memory();
  PassMemory<T> memory;
  memory.gradient = kernels::from(const_cast<T*>(event.gradient), extent.first);
  memory.heard = event.heard;
  memory.said = event.said;
  memory.point = event.next_point;
  memory.model = event.model;
  memory.model_first = event.first;
  memory.dimension = extent.size();
  memory.kernels = is_here ? &worker.kernels() : &cpu_backend().kernels<T>();
  if (worker.own != nullptr) {
    memory.at = layout.snapshot(worker.own);
    for (std::size_t k = 0; k < 2; ++k) memory.moment[k] = layout.moment(worker.own, k);
  }
  memory.state[0] = worker.x + extent.first;
  for (std::size_t k = 0; k < programs_->slots.size(); ++k)
    memory.state[k + 1] = layout.slot(worker.x, worker.own, k) + extent.first;
  if (event.partner == nullptr) return memory;
  memory.partner[0] = event.partner->x;
  for (std::size_t k = 0; k < programs_->slots.size(); ++k)
    memory.partner[k + 1] = layout.slot(event.partner->x, event.partner->own, k);
  return memory;
}

template <class T>
void ListedRule<T>::execute(const PartProgram& part, const Event& event) const {
  const WorkerView<T>& worker = event.worker;
  const WorkerSettings& settings = worker.settings;
  const Listing& listing = *programs_->listing;
  const Extent extent = extent_of(event);
  constexpr std::size_t kFew = 48;
  double few[kFew];
  std::vector<double> many, sums;
  const std::size_t count = part.numbers().size();
  if (count > kFew) many.resize(count);
  const std::span<double> numbers(count > kFew ? many.data() : few, count);
  std::ranges::copy(part.literals(), numbers.begin());
  PartProgram::Variant variant{.direction = direction_of(settings.optimizer),
                               .result = event.next_point != nullptr || event.model != nullptr};
  if constexpr (std::is_same_v<T, float>) choose_executor(settings, *programs_, variant);
  if (listing.between) {
    const auto drift = [&](HiddenNumber which, double elapsed) {
      return (hidden(numbers, which) = -0.5 * std::expm1(-2 * programs_->mix_rate * elapsed)) != 0;
    };
    variant.drifts = drift(HiddenNumber::drift, worker.elapsed);
    if (event.partner != nullptr)
      variant.partner_drifts = drift(HiddenNumber::partner_drift, event.partner->elapsed);
  }
  if (part.uses_direction()) set_direction<T>(settings.optimizer, event.size.number, numbers);
  if (variant.emitted && event.heard != nullptr)
    variant.sources = EmittedPass::sources_of(*event.heard);
  const T* const copy = event.said != nullptr ? event.said : event.next_point;
  const std::size_t copies = event.said != nullptr ? programs_->message.vectors : 1;
  variant.streams =
      variant.emitted && copy != nullptr && EmittedPass::streams(copy, extent.size(), copies);
  variant.sent = extent.vectors;
  const PassMemory<T> memory = memory_of(event, extent);
  for (std::size_t stage = 0; stage < part.stages(); ++stage) {
    const PartProgram::Stage& of = part.stage(stage);
    if (!of.computed.empty()) compute_numbers(part, stage, event, sums, numbers);
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
  for (const auto& [slot, number] : part.kept())
    worker.scalars[programs_->kept_at() + slot] = numbers[number];
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
  execute(programs_->point, {.worker = worker, .next_point = out, .exchange = exchange_of(worker)});
}

template <class T>
void ListedRule<T>::step(const WorkerView<T>& worker, const StepSize& size, const T* gradient,
                         T* next_point) const {
  execute(programs_->step, {.worker = worker,
                            .size = size,
                            .gradient = gradient,
                            .next_point = next_point,
                            .exchange = exchange_of(worker)});
  note(worker, size);
}

template <class T>
void ListedRule<T>::note(const WorkerView<T>& worker, const StepSize& step) const {
  if (!programs_->notes) return;
  worker.scalars[kRate] = step.learning_rate;
  worker.scalars[kGradients] = static_cast<double>(step.number);
  worker.scalars[kStaleness] = static_cast<double>(step.staleness);
}

// A message that is said again after a checkpoint keeps its number: only a say that is never
// repeated, or a hear, counts.
template <class T>
void ListedRule<T>::say(const WorkerView<T>& worker, T* out) const {
  const double exchange = exchange_of(worker) + (programs_->listing->is_server() ? 0 : 1);
  execute(programs_->say,
          {.worker = worker, .gradient = worker.gradient(), .said = out, .exchange = exchange});
  if (programs_->changes_when_saying) count_exchange(worker, exchange);
}

template <class T>
void ListedRule<T>::hear(const WorkerView<T>& worker, const Heard<T>& heard) const {
  if (heard.arrival != nullptr) note(worker, *heard.arrival);
  const double exchange = exchange_of(worker) + (programs_->changes_when_saying ? 0 : 1);
  execute(programs_->hear,
          {.worker = worker, .gradient = worker.gradient(), .heard = &heard, .exchange = exchange});
  count_exchange(worker, exchange);
}

// The shortest code for a meeting of short vectors.
template <class T>
bool ListedRule<T>::meet_at_once(const WorkerView<T>& i, const WorkerView<T>& j) const {
  if constexpr (!std::is_same_v<T, float>) return false;
  const WorkerSettings& settings = i.settings;
  if (settings.threads != 1) return false;
  double drift = 0, partner_drift = 0;
  if (programs_->listing->between) {
    drift = -0.5 * std::expm1(-2 * programs_->mix_rate * i.elapsed);
    partner_drift = -0.5 * std::expm1(-2 * programs_->mix_rate * j.elapsed);
  }
  ListedPrograms::Pair& pair = programs_->pairs[drift != 0][partner_drift != 0];
  if (pair.backend.load(std::memory_order_acquire) != settings.backend) {
    PartProgram::Variant variant{.drifts = drift != 0, .partner_drifts = partner_drift != 0};
    choose_executor(settings, *programs_, variant);
    if (!variant.emitted) return false;
    const CompiledPass* const code = programs_->meet.pass(0, variant).code.get();
    if (code == nullptr || pair.backend.load() != nullptr) return false;
    pair.code.store(code);
    pair.backend.store(settings.backend, std::memory_order_release);
  }
  const WorkerLayout<T> layout(settings);
  T *of_i[1 + kMostVectors], *of_j[1 + kMostVectors];
  of_i[0] = i.x;
  of_j[0] = j.x;
  for (std::size_t k = 0; k < programs_->slots.size(); ++k) {
    of_i[k + 1] = layout.slot(i.x, i.own, k);
    of_j[k + 1] = layout.slot(j.x, j.own, k);
  }
  const CompiledPass* const code = pair.code.load(std::memory_order_relaxed);
  if constexpr (std::is_same_v<T, float>)
    return code->run_pair(of_i, of_j, drift, partner_drift, programs_->meet.literals(),
                          settings.dimension);
  return false;
}

template <class T>
void ListedRule<T>::meet(const WorkerView<T>& i, const WorkerView<T>& j) const {
  if (!programs_->meets_at_once) return meet_by_messages<T>(*this, i, j);
  if (!meet_at_once(i, j)) execute(programs_->meet, {.worker = i, .partner = &j});
  for (const WorkerView<T>* const one : {&i, &j}) count_exchange(*one, exchange_of(*one) + 1);
}

template <class T>
void ListedRule<T>::read(const WorkerView<T>& worker, const Heard<T>* pending, std::size_t first,
                         T* out, std::size_t size) const {
  const double exchange = exchange_of(worker);
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
