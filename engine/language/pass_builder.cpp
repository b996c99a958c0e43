#include "engine/language/pass_builder.hpp"

#include <algorithm>
#include <bit>

#include "engine/base/error.hpp"

namespace acid {
namespace {

using Kind = Operand::Kind;

Kind kind_of(Operation operation) {
  if (operation == Operation::mean) return Kind::mean;
  if (operation == Operation::pull) return Kind::pull;
  return operation == Operation::mine ? Kind::mine : Kind::theirs;
}

}  // namespace

std::optional<Operand> place_of_vector(const Listing& listing, std::string_view name) {
  if (name == "x") return Operand{Kind::state, 0};
  if (name == "g") return Operand{Kind::gradient, 0};
  for (std::size_t k = 0; k < listing.vectors.size(); ++k)
    if (listing.vectors[k].name == name)
      return Operand{Kind::state, static_cast<std::uint16_t>(k + 1)};
  return std::nullopt;
}

Pass PassBuilder::build() {
  if (program_.options_.meets) {
    meet();
    finish();
    return std::move(pass_);
  }
  const PartProgram::Stage& stage = program_.stages_[stage_];
  if (stage_ == 0 && variant_.drifts && program_.options_.drifts) drift(HiddenNumber::drift);
  if (stage_ == 0 && program_.options_.hears) add_pulls();
  // The optimiser's state changes with every gradient, for any conditions.
  if (stage_ == 0 && program_.uses_direction_) direction();
  std::size_t condition = 0;
  for (std::size_t i = stage.first_statement; i < stage.last_statement; ++i) {
    const Statement& statement = program_.statements_[i];
    const auto known = names_.find(statement.target);
    if (!known->second) continue;
    const bool holds = !statement.condition || ((variant_.holds >> condition++) & 1) != 0;
    if (!holds) continue;
    const auto& vectors = program_.listing_->vectors;
    const auto rest = std::ranges::find(vectors, true, &Kept::is_rest_of_x);
    if (statement.target == "x" && rest != vectors.end())
      assign_with_rest(rest->name, statement.value);
    else
      assign(statement.target, compile(statement.value));
  }
  reduce();
  if (stage_ + 1 == program_.stages_.size()) {
    if (program_.options_.result != nullptr && variant_.result)
      store(compile(*program_.options_.result), program_.options_.result_to);
    if (program_.options_.messages != nullptr)
      for (std::size_t i = 0; i < program_.options_.messages->size(); ++i)
        if (program_.listing_->sends_vector[i] && is_sent(i))
          store(compile((*program_.options_.messages)[i].value), message(Kind::said, i));
  }
  if (program_.options_.keeps) store_all();
  finish();
  return std::move(pass_);
}

// Both say before one of them hears.
void PassBuilder::meet() {
  for (side_ = 0; side_ < 2; ++side_) {
    current_.clear();
    if (side_ == 0 ? variant_.drifts : variant_.partner_drifts)
      drift(side_ == 0 ? HiddenNumber::drift : HiddenNumber::partner_drift);
    for (const Statement& one : *program_.options_.messages)
      sides_[side_].said.push_back(compile(one.value));
    sides_[side_].current = current_;
  }
  for (side_ = 0; side_ < 2; ++side_) {
    current_ = sides_[side_].current;
    for (const Statement& one : program_.statements_)
      if (names_.find(one.target)->second) assign(one.target, compile(one.value));
    sides_[side_].current = current_;
  }
  // One side's results after the other's: stored values are in registers or unchanged.
  for (side_ = 0; side_ < 2; ++side_) {
    current_ = sides_[side_].current;
    store_all();
  }
}

void PassBuilder::finish() {
  forget_unused();
  allocate_registers();
}

Operand PassBuilder::emit(Operation code, Operand a, Operand b, Operand c) {
  if (program_.options_.meets)
    if (const auto known = known_result(code, a, b)) return *known;
  const Operand to{Kind::register_, pass_.registers++};
  pass_.instructions.push_back({code, to.index, a, b, c});
  return to;
}

// One partner's result in a meeting is often the other's, or minus that.
std::optional<Operand> PassBuilder::known_result(Operation code, const Operand& a,
                                                 const Operand& b) {
  const auto minus = [&](const Operand& value) {
    const Operand to{Kind::register_, pass_.registers++};
    pass_.instructions.push_back({Operation::negate, to.index, value});
    return negated_[to] = value, to;
  };
  if (const auto found = negated_.find(b); found != negated_.end()) {
    if (code == Operation::multiply) return minus(emit(code, a, found->second));
    if (code == Operation::subtract) return emit(Operation::add, a, found->second);
  }
  for (const Instruction& one : pass_.instructions) {
    const Operand result{Kind::register_, one.to};
    if (one.code != code || arguments_of(code) != 2) continue;
    if (one.a == a && one.b == b) return result;
    if (code == Operation::subtract && one.a == b && one.b == a) return minus(result);
  }
  return std::nullopt;
}

Operand PassBuilder::constant(HiddenNumber number) const {
  return {Kind::constant, static_cast<std::uint16_t>(number)};
}

bool PassBuilder::is_sent(std::size_t message) const {
  return (variant_.sent >> position_of_message(program_.listing_->sends_vector, message) & 1) != 0;
}

// Messages that are not sent leave no gaps, so positions are counted without them.
Operand PassBuilder::message(Kind kind, std::size_t index) const {
  const bool of_other = kind == Kind::theirs && program_.listing_->peers == Peers::server;
  const std::uint16_t position = position_of_message(
      program_.listing_->heard_by(of_other ? Operation::theirs : Operation::mine), index);
  if (of_other) return {kind, position};  // all of it is sent
  const std::uint32_t before = (1u << position) - 1;
  return {kind, static_cast<std::uint16_t>(std::popcount(variant_.sent & before))};
}

Operand PassBuilder::compile(const Expression& value) {
  if (const auto number = program_.number_at_.find(&value); number != program_.number_at_.end())
    return {Kind::constant, number->second};
  switch (value.operation) {
    case Operation::name:
      return vector(value.name);
    case Operation::mean:
    case Operation::pull:
    case Operation::mine:
    case Operation::theirs:
      if (program_.options_.meets)
        return sides_[value.operation == Operation::mine ? side_ : 1 - side_].said[value.index];
      return message(kind_of(value.operation), value.index);
    default:
      break;
  }
  Operand arguments[3];
  for (std::size_t k = 0; k < value.arguments.size(); ++k)
    arguments[k] = compile(value.arguments[k]);
  ACID_ASSERT(is_of_elements(value.operation), "operation {} is of numbers",
              static_cast<int>(value.operation));
  return emit(value.operation, arguments[0], arguments[1], arguments[2]);
}

Operand PassBuilder::vector(const std::string& name) {
  if (const auto found = current_.find(name); found != current_.end()) return found->second;
  if (name == "u") return direction();
  if (name == "at") return {Kind::at, 0};
  const auto place = place_of(name);
  ACID_ASSERT(place.has_value(), "nobody has assigned {}", name);
  return *place;
}

std::optional<Operand> PassBuilder::place_of(std::string_view name) const {
  std::optional<Operand> place = place_of_vector(*program_.listing_, name);
  if (place && side_ == 1 && place->kind == Kind::state) place->kind = Kind::partner;
  return place;
}

// A step of the recipe's optimiser before the learning rate. SGD: u = g + decay·x, and with
// momentum m = momentum·m + u, then m or, by Nesterov, u + momentum·m. Adam (Kingma & Ba 2015) and
// AdamW (Loshchilov & Hutter 2019), whose decay is on the model instead of the gradient.
Operand PassBuilder::direction() {
  if (direction_) return *direction_;
  const Operand gradient = vector("g"), decay = constant(HiddenNumber::decay);
  pass_.has_decay = true;
  if (variant_.direction >= Direction::adam) return *(direction_ = adam(gradient, decay));
  const Operand u = emit(Operation::add, gradient, emit(Operation::multiply, decay, vector("x")));
  if (variant_.direction == Direction::sgd) return *(direction_ = u);
  const Operand m = emit(
      Operation::add,
      emit(Operation::multiply, constant(HiddenNumber::momentum), Operand{Kind::moment, 0}), u);
  store(m, {Kind::moment, 0});
  direction_ =
      variant_.direction == Direction::momentum
          ? m
          : emit(Operation::add, u, emit(Operation::multiply, constant(HiddenNumber::momentum), m));
  return *direction_;
}

Operand PassBuilder::adam(Operand gradient, Operand decay) {
  const bool decoupled = variant_.direction == Direction::adamw;
  const auto multiply = [&](Operand a, Operand b) { return emit(Operation::multiply, a, b); };
  const Operand decayed = multiply(decay, vector("x"));
  if (!decoupled) gradient = emit(Operation::add, gradient, decayed);
  const Operand m = emit(Operation::add, multiply(constant(HiddenNumber::beta1), {Kind::moment, 0}),
                         multiply(constant(HiddenNumber::rest1), gradient));
  const Operand v = emit(Operation::add, multiply(constant(HiddenNumber::beta2), {Kind::moment, 1}),
                         multiply(multiply(constant(HiddenNumber::rest2), gradient), gradient));
  store(m, {Kind::moment, 0});
  store(v, {Kind::moment, 1});
  const Operand root =
      emit(Operation::add, multiply(emit(Operation::square_root, v), constant(HiddenNumber::root)),
           constant(HiddenNumber::epsilon));
  const Operand step = emit(Operation::divide, multiply(constant(HiddenNumber::scale), m), root);
  return decoupled ? emit(Operation::add, step, decayed) : step;
}

void PassBuilder::drift(HiddenNumber by) {
  const Listing::Mix& mix = *program_.listing_->between;
  const Operand a = vector(mix.a), b = vector(mix.b);
  const Operand delta = emit(Operation::multiply, constant(by), emit(Operation::subtract, b, a));
  assign(mix.a, emit(Operation::add, a, delta));
  assign(mix.b, emit(Operation::subtract, b, delta));
}

// Adds with known rounding errors (Knuth's two-sum), so that the sum has the digits of two vectors:
// sum plus rest equals the old sum and rest, the pull, and the pull's own rounding error.
void PassBuilder::add_pulls() {
  const auto add = [&](Operand a, Operand b) { return emit(Operation::add, a, b); };
  const auto subtract = [&](Operand a, Operand b) { return emit(Operation::subtract, a, b); };
  for (const Kept& one : program_.listing_->vectors) {
    if (!one.pulled_by || !is_sent(*one.pulled_by)) continue;
    const Operand before = vector(one.name), pull = message(Kind::pull, *one.pulled_by);
    const Operand sum = add(before, pull), lost = lost_by(sum, before, pull);
    const std::string rest = rest_of(one.name);
    const Operand more = add(add(vector(rest), lost), message(Kind::rest, *one.pulled_by));
    const Operand rounded = add(sum, more);
    assign(rest, subtract(more, subtract(rounded, sum)));
    assign(one.name, rounded);
  }
}

// The rounding error of a + b, rounded to `sum`: exact.
Operand PassBuilder::lost_by(Operand sum, Operand a, Operand b) {
  const auto subtract = [&](Operand c, Operand d) { return emit(Operation::subtract, c, d); };
  const Operand added = subtract(sum, a);
  return emit(Operation::add, subtract(a, subtract(sum, added)), subtract(b, added));
}

// Assigns x with its rounding error: that of a sum or difference, and, when a pull or a sum of
// pulls is added, the error of the pull.
void PassBuilder::assign_with_rest(const std::string& rest, const Expression& value) {
  const bool subtracts = value.operation == Operation::subtract;
  Operand sum, more = vector(rest);
  if (subtracts || value.operation == Operation::add) {
    const Operand a = compile(value.arguments[0]);
    Operand b = compile(value.arguments[1]);
    if (subtracts) b = emit(Operation::negate, b);
    sum = emit(Operation::add, a, b);
    more = emit(Operation::add, more, lost_by(sum, a, b));
    if (const auto last = rest_of_pull(value.arguments[1]))
      more = emit(subtracts ? Operation::subtract : Operation::add, more, *last);
  } else {
    sum = compile(value);
  }
  const Operand rounded = emit(Operation::add, sum, more);
  assign(rest, emit(Operation::subtract, more, emit(Operation::subtract, rounded, sum)));
  assign("x", rounded);
}

std::optional<Operand> PassBuilder::rest_of_pull(const Expression& value) {
  if (value.operation == Operation::pull) return message(Kind::rest, value.index);
  const auto& vectors = program_.listing_->vectors;
  const auto kept = std::ranges::find(vectors, value.name, &Kept::name);
  if (value.operation != Operation::name || kept == vectors.end() || !kept->pulled_by)
    return std::nullopt;
  return vector(rest_of(value.name));
}

void PassBuilder::assign(const std::string& name, Operand value) {
  current_[name] = value;
  if (place_of_vector(*program_.listing_, name) &&
      std::ranges::find(assigned_, name) == assigned_.end())
    assigned_.push_back(name);
}

// A message that is not sent is not reduced: the statement has the message's condition and discards
// the result.
void PassBuilder::reduce() {
  const auto is_missing = [&](const Expression& one) {
    return is_heard(one.operation) && program_.listing_->peers != Peers::server &&
           program_.listing_->sends_vector[one.index] && !is_sent(one.index);
  };
  std::uint16_t index = 0;
  for (const PartProgram::Reduction& reduction : program_.reductions_) {
    if (reduction.stage != stage_) continue;
    const Expression& value = *reduction.value;
    if (any_of(value, is_missing)) {
      ++index;
      continue;
    }
    const Operand a = compile(value.arguments[0]);
    const Operand b = value.arguments.size() > 1 ? compile(value.arguments[1]) : Operand{};
    pass_.instructions.push_back({value.operation, index++, a, b, {}});
  }
}

void PassBuilder::store_all() {
  for (const std::string& name : assigned_) {
    const auto known = current_.find(name);
    if (known == current_.end()) continue;
    const Operand to = *place_of(name);
    if (to.kind == Kind::gradient && !program_.options_.keeps_gradient) continue;
    if (known->second != to) store(known->second, to);
  }
  // Stores are made one after the other: a store must not read a place that another has written.
  // The next point is written to the place of the last one.
  const auto place = [](const Operand& operand) {
    return operand.kind == Kind::at ? Operand{Kind::point, 0} : operand;
  };
  for (Pass::Store& one : pass_.stores) {
    const bool overwritten = std::ranges::any_of(
        pass_.stores, [&](const Pass::Store& other) { return other.to == place(one.from); });
    if (overwritten) one.from = emit(Operation::name, one.from);
  }
}

void PassBuilder::store(Operand from, Operand to) { pass_.stores.push_back({from, to}); }

}  // namespace acid
