#include "engine/language/program.hpp"

#include <algorithm>

#include "engine/language/device_pass.hpp"
#include "engine/language/emitter.hpp"
#include "engine/language/interpreter.hpp"
#include "engine/language/pass_builder.hpp"

namespace acid {
namespace {

constexpr std::uint16_t index_of(EventNumber number) { return static_cast<std::uint16_t>(number); }

// The number with this name ("lr" and so on), in the order of EventNumber.
std::optional<std::uint16_t> event_number(std::string_view name) {
  if (name == "late") return index_of(EventNumber::late);
  const auto found = std::ranges::find(kEventNumbers, name);
  if (found == kEventNumbers.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - kEventNumbers.begin());
}

NumberInstruction::Source source_of(Operation operation) {
  if (operation == Operation::mean) return NumberInstruction::Source::mean;
  return operation == Operation::mine ? NumberInstruction::Source::mine
                                      : NumberInstruction::Source::theirs;
}

}  // namespace

std::uint16_t position_of_message(const std::vector<bool>& is_vector, std::size_t index) {
  std::uint16_t position = 0;
  for (std::size_t k = 0; k < index; ++k)
    if (is_vector[k] == is_vector[index]) ++position;
  return position;
}

PartProgram::PartProgram(std::shared_ptr<const Listing> listing,
                         const std::map<std::string, double, std::less<>>& parameters,
                         const std::vector<Statement>& statements, const Options& options)
    : listing_(std::move(listing)),
      parameters_(parameters),
      statements_(statements),
      options_(options),
      names_(listed_names(*listing_)),
      numbers_(static_cast<std::size_t>(HiddenNumber::count)) {
  for (NumberInstruction& hidden : numbers_) hidden.source = NumberInstruction::Source::literal;
  stages_.back().first = numbers_.size();
  for (const char* vector : {"g", "u", "at"}) names_[vector] = true;
  names_["late"] = false;
  for (std::size_t i = 0; i < statements_.size(); ++i) compile(statements_[i], i);
  stages_.back().last_statement = statements_.size();
  if (options_.result != nullptr) note_numbers(*options_.result);
  if (options_.messages != nullptr)
    for (std::size_t i = 0; i < options_.messages->size(); ++i) {
      const Expression& value = (*options_.messages)[i].value;
      if (listing_->sends_vector[i])
        note_numbers(value);
      else
        said_.emplace_back(position_of_message(listing_->sends_vector, i), number_of(value));
    }
  stages_.back().last = numbers_.size();
  for (const NumberInstruction& one : numbers_) literals_.push_back(one.literal);
  for (Stage& stage : stages_)
    for (std::size_t k = stage.first; k < stage.last; ++k)
      if (numbers_[k].source != NumberInstruction::Source::literal)
        stage.computed.push_back(static_cast<std::uint16_t>(k));
  for (std::size_t k = 0; options_.keeps && k < listing_->numbers.size(); ++k)
    if (const auto found = current_.find(listing_->numbers[k].name); found != current_.end())
      kept_.emplace_back(static_cast<std::uint16_t>(k), found->second);
}

// An operation on literals is a literal.
std::uint16_t PartProgram::add(const NumberInstruction& instruction) {
  using Source = NumberInstruction::Source;
  numbers_.push_back(instruction);
  NumberInstruction& made = numbers_.back();
  const NumberInstruction &a = numbers_[made.a], &b = numbers_[made.b], &c = numbers_[made.c];
  const auto is_literal = [](const NumberInstruction& one) {
    return one.source == Source::literal;
  };
  if (made.source == Source::operation && is_literal(a) && is_literal(b) && is_literal(c))
    made = {.source = Source::literal,
            .literal = compute(made.operation, a.literal, b.literal, c.literal)};
  return static_cast<std::uint16_t>(numbers_.size() - 1);
}

std::uint16_t PartProgram::number_of(const Expression& value) {
  using Source = NumberInstruction::Source;
  switch (value.operation) {
    case Operation::number:
      return add({.source = Source::literal, .literal = value.number});
    case Operation::name:
      break;
    case Operation::mean:
    case Operation::mine:
    case Operation::theirs:
      return add({.source = source_of(value.operation),
                  .index = position_of_message(listing_->heard_by(value.operation), value.index)});
    case Operation::norm:
    case Operation::dot:
    case Operation::sum:
      return reduction_of(value);
    default: {
      NumberInstruction made{.operation = value.operation};
      std::uint16_t* const arguments[] = {&made.a, &made.b, &made.c};
      for (std::size_t k = 0; k < value.arguments.size(); ++k)
        *arguments[k] = number_of(value.arguments[k]);
      return add(made);
    }
  }
  if (const auto found = current_.find(value.name); found != current_.end()) return found->second;
  NumberInstruction made;
  if (const auto parameter = parameters_.find(value.name); parameter != parameters_.end()) {
    made = {.source = Source::literal, .literal = parameter->second};
  } else if (options_.meets && value.name == "late") {
    made.source = Source::literal;
  } else if (const auto event = event_number(value.name)) {
    made = {.source = Source::event, .index = *event};
  } else {
    made.source = Source::kept;
    for (std::size_t k = 0; k < listing_->numbers.size(); ++k)
      if (listing_->numbers[k].name == value.name) made.index = static_cast<std::uint16_t>(k);
  }
  return current_[value.name] = add(made);
}

// compile() has put the reduction into the stage before.
std::uint16_t PartProgram::reduction_of(const Expression& value) {
  const std::size_t stage = stages_.size() - 2;
  std::uint16_t index = 0;
  for (const Reduction& reduction : reductions_) {
    if (reduction.value == &value) break;
    if (reduction.stage == stage) ++index;
  }
  return add({.source = value.operation == Operation::norm ? NumberInstruction::Source::root
                                                           : NumberInstruction::Source::reduction,
              .index = index});
}

// Notes the largest scalar parts of a vector expression: each is computed once, and rounded when it
// meets the vector.
void PartProgram::note_numbers(const Expression& value) {
  if (!is_vector(value, names_, *listing_)) {
    const std::uint16_t number = number_of(value);
    number_at_[&value] = number;
    return;
  }
  if (value.operation == Operation::name && value.name == "u") uses_direction_ = true;
  for (const Expression& argument : value.arguments) note_numbers(argument);
}

void PartProgram::compile(const Statement& statement, std::size_t index) {
  const bool vector = is_vector(statement.value, names_, *listing_) ||
                      (names_.contains(statement.target) && names_.find(statement.target)->second);
  if (vector) {
    note_numbers(statement.value);
    if (statement.condition) stages_.back().conditions.push_back(number_of(*statement.condition));
    names_[statement.target] = true;
    return;
  }
  const std::size_t before = reductions_.size();
  any_of(statement.value, [&](const Expression& one) {
    if (!is_reduction(one.operation)) return false;
    for (const Expression& argument : one.arguments) note_numbers(argument);
    reductions_.push_back({stages_.size() - 1, &one});
    return false;
  });
  if (reductions_.size() > before) {
    Stage& over = stages_.back();
    over.reductions = reductions_.size() - before;
    over.last = numbers_.size();
    over.last_statement = index;
    const std::size_t first = over.last;
    Stage& next = stages_.emplace_back();
    next.first = first;
    next.first_statement = index;
  }
  std::uint16_t value = number_of(statement.value);
  if (statement.condition) {
    const std::uint16_t condition = number_of(*statement.condition);
    const Expression old{.operation = Operation::name, .name = statement.target};
    value = add({.operation = Operation::where, .a = condition, .b = value, .c = number_of(old)});
  }
  names_[statement.target] = false;
  current_[statement.target] = value;
}

const ExecutablePass& PartProgram::pass(std::size_t stage, const Variant& variant) const {
  if (const Made* const made = find(stage, variant)) return made->executable;
  MutexLock lock(mutex_);
  if (const Made* const made = find(stage, variant)) return made->executable;
  ExecutablePass pass{PassBuilder(*this, stage, variant).build(), nullptr};
  if (variant.device != nullptr && !pass.pass.is_empty())
    pass.code = std::make_shared<DevicePass>(*variant.device, pass.pass, variant.sources);
  else if (variant.emitted && !pass.pass.is_empty())
    pass.code = EmittedPass::emit(pass.pass, variant.sources, variant.streams, variant.wide);
  made_ = std::make_unique<const Made>(Made{stage, variant, std::move(pass), std::move(made_)});
  latest_.store(made_.get(), std::memory_order_release);
  return made_->executable;
}

const PartProgram::Made* PartProgram::find(std::size_t stage, const Variant& variant) const {
  const Made* made = latest_.load(std::memory_order_acquire);
  while (made != nullptr && (made->stage != stage || made->variant != variant))
    made = made->before.get();
  return made;
}

std::vector<Pass> PartProgram::passes(const Variant& like) const {
  constexpr std::size_t kMostConditions = 4;
  std::vector<Pass> all;
  Variant variant = like;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const std::size_t conditions = std::min(stages_[stage].conditions.size(), kMostConditions);
    for (variant.holds = 0; variant.holds < std::uint64_t{1} << conditions; ++variant.holds)
      for (int options = 0; options < 8; ++options) {
        variant.drifts = (options & 1) != 0;
        variant.result = (options & 2) != 0;
        variant.partner_drifts = (options & 4) != 0;
        if (((variant.drifts || variant.partner_drifts) && !listing_->between) ||
            (variant.partner_drifts && !options_.meets) || (variant.result && !options_.result))
          continue;
        if (Pass pass = PassBuilder(*this, stage, variant).build(); !pass.is_empty())
          all.push_back(std::move(pass));
      }
  }
  return all;
}

}  // namespace acid
