#include "engine/language/listed_programs.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "engine/language/device_pass.hpp"
#include "engine/language/interpreter.hpp"

namespace acid {
namespace {

constexpr std::array kKeptNumbers = {ScalarSlot{"lr"}, ScalarSlot{"k"}, ScalarSlot{"exchange"},
                                     ScalarSlot{"stale"}};

const std::vector<Statement> kNothing;

constexpr Operand kToPoint{Operand::Kind::point, 0}, kToModel{Operand::Kind::model, 0};

bool assigns_kept(const Listing& listing, const std::vector<Statement>& statements) {
  return std::ranges::any_of(statements,
                             [&](const Statement& one) { return listing.keeps(one.target); });
}

bool read_by(const std::vector<Statement>& statements, std::string_view name) {
  return std::ranges::any_of(statements, [&](const Statement& one) { return reads(one, name); });
}

// Whether both workers' parts of a meeting depend only on their vectors and the parameters.
bool hears_at_once(const Listing& listing) {
  const auto is_known = [&](const Expression& one) {
    if (one.operation == Operation::mean || one.operation == Operation::pull) return false;
    if (is_reduction(one.operation)) return false;
    if (one.operation != Operation::name) return true;
    const bool of_event = std::ranges::find(kEventNumbers, one.name) != kEventNumbers.end();
    return !of_event && one.name != "g" && one.name != "u" && one.name != "at" &&
           std::ranges::find(listing.numbers, one.name, &Kept::name) == listing.numbers.end();
  };
  const auto is_simple = [&](const Statement& one) {
    return !one.condition && one.target != "g" &&
           std::ranges::find(listing.numbers, one.target, &Kept::name) == listing.numbers.end() &&
           !any_of(one.value, [&](const Expression& part) { return !is_known(part); });
  };
  return listing.meets() && listing.say.empty() &&
         std::ranges::none_of(listing.vectors, &Kept::is_own_affair) &&
         std::ranges::all_of(listing.send, is_simple) &&
         std::ranges::all_of(listing.hear, is_simple) &&
         std::ranges::all_of(listing.sends_vector, std::identity());
}

Message message_of(const std::vector<bool>& is_vector) {
  const auto vectors = static_cast<std::size_t>(std::ranges::count(is_vector, true));
  return {vectors, is_vector.size() - vectors};
}

}  // namespace

double formula_value(const Expression& formula, const ParameterValues& parameters,
                     double exchange) {
  if (formula.operation == Operation::number) return formula.number;
  if (formula.operation == Operation::name)
    return formula.name == "exchange" ? exchange : parameters.find(formula.name)->second;
  double arguments[3] = {};
  for (std::size_t k = 0; k < formula.arguments.size(); ++k)
    arguments[k] = formula_value(formula.arguments[k], parameters, exchange);
  return compute(formula.operation, arguments[0], arguments[1], arguments[2]);
}

ListedPrograms::ListedPrograms(std::shared_ptr<const Listing> of, const ParameterValues& values,
                               bool keeps_notes)
    : ListedFacts{.notes = keeps_notes, .meets_at_once = hears_at_once(*of)},
      listing(std::move(of)),
      parameters(values),
      advance(listing, parameters, kNothing, {.drifts = true}),
      point(listing, parameters, kNothing,
            {.drifts = true, .result = &listing->point, .result_to = kToPoint}),
      step(listing, parameters, listing->step,
           {.drifts = true, .result = &listing->point, .result_to = kToPoint}),
      say(listing, parameters, listing->say, {.drifts = true, .messages = &listing->send}),
      hear(listing, parameters, listing->hear,
           {.drifts = true, .hears = true, .keeps_gradient = true}),
      read(listing, parameters, kNothing,
           {.drifts = true, .keeps = false, .result = &listing->model, .result_to = kToModel}),
      read_after_hearing(
          listing, parameters, listing->hear,
          {.drifts = true, .keeps = false, .result = &listing->model, .result_to = kToModel}),
      meet(listing, parameters, meets_at_once ? listing->hear : kNothing,
           {.drifts = true, .meets = meets_at_once, .messages = &listing->send}) {
  if (listing->between) mix_rate = formula_value(listing->between->rate, parameters);
  if (listing->fragments)
    fragments = static_cast<std::size_t>(formula_value(*listing->fragments, parameters));
  for (const Kept& one : listing->vectors)
    slots.push_back({.name = one.name,
                     .start = one.starts_at_x ? Slot::Start::x : Slot::Start::value,
                     .value = one.start,
                     .shared = meets_at_once && !notes});
  if (notes) numbers.assign(kKeptNumbers.begin(), kKeptNumbers.end());
  for (const Kept& one : listing->numbers) numbers.push_back({one.name, one.start});
  if (listing->served.hubs || listing->is_visit()) numbers.push_back({"visits"});
  if (listing->is_visit()) exchange_at = numbers.size() - 1;
  message = message_of(listing->sends_vector);
  theirs = message_of(listing->heard_by(Operation::theirs));
  changes_when_saying = assigns_kept(*listing, listing->say) || read_by(listing->step, "exchange");
  changes_gradient =
      std::ranges::any_of(listing->hear, [](const Statement& one) { return one.target == "g"; });
  if (!listing->meets() && listing->peers != Peers::server) note_steps();
  point_is_x = print(listing->point) == "x" && !read_by(listing->step, "at");
  varies = fragments > 1 || std::ranges::any_of(listing->send, [](const Statement& one) {
             return one.condition.has_value();
           });
}

void ListedPrograms::note_steps() {
  const Round round(listing->round,
                    [&](std::string_view name) { return parameters.find(name)->second; });
  for (const Leg& leg : round.legs()) {
    bool before = true;
    for (const Phase phase : leg) {
      if (phase == Phase::step) before = false;
      if (phase == Phase::say) before_step.says.push_back(before);
      if (phase == Phase::hear) before_step.hears.push_back(before);
    }
  }
}

void ListedPrograms::prepare(const PartProgram::Variant& like) const {
  MutexLock lock(mutex);
  if (!prepared.insert({like.device, like.direction}).second) return;
  std::vector<Pass> all;
  for (const PartProgram* const part :
       {&advance, &point, &step, &say, &hear, &read, &read_after_hearing, &meet}) {
    if (part == &read_after_hearing && !listing->meets()) continue;
    if (part == &meet && !meets_at_once) continue;
    for (Pass& pass : part->passes(like)) all.push_back(std::move(pass));
  }
  DevicePass::prepare(*like.device, all, like.sources);
}

// Parts of a vector begin at multiples of 8 elements, unless the vector is too short for that.
Extent ListedPrograms::extent(std::int64_t number, std::size_t dimension) const {
  Extent extent(message, dimension);
  if (!varies) return extent;
  const std::size_t parts =
      std::clamp<std::size_t>(fragments, 1, std::max<std::size_t>(1, dimension));
  const std::size_t unit = dimension >= 8 * parts ? 8 : 1;
  const auto border = [&](std::size_t part) {
    return part == parts ? dimension : dimension / unit * part / parts * unit;
  };
  const std::size_t part = static_cast<std::size_t>(number) % parts;
  extent.first = border(part);
  extent.last = border(part + 1);
  for (std::size_t i = 0; i < listing->send.size(); ++i) {
    const auto& condition = listing->send[i].condition;
    if (!condition || formula_value(*condition, parameters, static_cast<double>(number + 1)) != 0)
      continue;
    (listing->sends_vector[i] ? extent.vectors : extent.scalars) &=
        ~(1u << position_of_message(listing->sends_vector, i));
  }
  return extent;
}

}  // namespace acid
