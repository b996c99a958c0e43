#pragma once

#include <asmjit/core.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "engine/language/emitter.hpp"

namespace acid {

/// What asmjit has of a function.
struct MachineCode {
  asmjit::CodeHolder holder;
};

/// Writes the code of one pass with the instructions of a Machine: X86Machine, A64Machine. asmjit
/// has an unlimited number of registers: it assigns them, and keeps in memory those for which the
/// processor has none.
///
/// A Machine's Vec holds width() elements. Its functions add code that writes their first argument;
/// a Source is a Vec, or a place in memory where the machine's instructions read memory.
template <class Machine>
class Emission {
 public:
  Emission(const Pass& pass, EmittedPass& emitted, asmjit::CodeHolder& code)
      : pass_(pass),
        emitted_(emitted),
        machine_(code, emitted.is_wide_, emitted.streams_),
        values_(pass.registers) {
    const auto note = [&](const Operand& operand) { ++uses_[operand]; };
    for (const Instruction& one : pass.instructions) {
      const Operand operands[] = {one.a, one.b, one.c};
      std::for_each_n(operands, arguments_of(one.code), note);
    }
    for (const Pass::Store& store : pass.stores) note(store.from);
  }

  // Puts the code into the holder, and the function's arguments into the pass. False where asmjit
  // cannot.
  bool write() {
    const auto body = [&] {
      loaded_.clear();
      heard_.clear();
      for (const Instruction& one : pass_.instructions) execute(one);
      store();
    };
    return machine_.write(body, [&] {
      for (const auto& [reduction, sums] : sums_)
        for (int half = 0; half < 2; ++half) machine_.store_lanes(reduction * 2 + half, sums[half]);
    });
  }

 private:
  using Kind = Operand::Kind;
  using Vec = typename Machine::Vec;
  using Source = typename Machine::Source;
  using Sums = std::array<Vec, 2>;  // lanes 0 to 3, and 4 to 7, in double

  enum class For { reading, writing };
  typename Machine::Pointer address(const Operand& operand, For what = For::reading,
                                    std::size_t source = 0) {
    auto& places = emitted_.places_;
    const auto found = std::ranges::find_if(places, [&](const EmittedPass::Place& place) {
      return place.operand == operand && place.source == source;
    });
    const auto index = static_cast<std::size_t>(found - places.begin());
    if (found == places.end()) places.push_back({operand, source});
    (what == For::writing ? places[index].is_written : places[index].is_read) = true;
    if (index == pointers_.size()) pointers_.push_back(machine_.pointer(index));
    return pointers_[index];
  }

  Vec constant_at(std::size_t index) {
    if (const auto made = constant_values_.find(index); made != constant_values_.end())
      return made->second;
    return constant_values_[index] = machine_.constant(index);
  }

  Vec literal(std::uint32_t bits) {
    if (const auto made = literals_.find(bits); made != literals_.end()) return made->second;
    return literals_[bits] = machine_.literal(bits);
  }

  Vec value(const Operand& operand) {
    if (operand.kind == Kind::constant) {
      auto& constants = emitted_.constants_;
      const auto found = std::ranges::find(constants, operand.index);
      const auto index = static_cast<std::size_t>(found - constants.begin());
      if (found == constants.end()) constants.push_back(operand.index);
      return constant_at(emitted_.sources_ + index);
    }
    if (operand.kind == Kind::register_) return values_[operand.index];
    if (const auto made = loaded_.find(operand); made != loaded_.end()) return made->second;
    const Vec value = loaded_[operand] = machine_.fresh();
    if (is_taken_here(operand))
      take(operand, value);
    else
      machine_.load(value, address(operand));
    return value;
  }

  bool is_taken_here(const Operand& operand) const {
    return is_of_all_heard(operand) && emitted_.sources_ > 0;
  }

  // Emits PassMemory::take() for all operands made of one message.
  void take(const Operand& operand, const Vec& to) {
    const Heard& heard = heard_of(operand.index);
    if (operand.kind == Kind::mean && emitted_.sources_ > 1)
      machine_.calculate(Operation::add, to, heard.own, heard.pull);
    else
      machine_.move(to, operand.kind == Kind::mean   ? heard.own
                        : operand.kind == Kind::pull ? heard.pull
                                                     : heard.rest);
  }

  struct Heard {
    Vec own, pull, rest;
  };
  const Heard& heard_of(std::uint16_t index) {
    if (const auto made = heard_.find(index); made != heard_.end()) return made->second;
    Heard& heard = heard_[index];
    const Operand message{Kind::mean, index};
    const bool has_rest = uses_.contains({Kind::rest, index});
    heard = {machine_.fresh(), machine_.fresh(), machine_.fresh()};
    machine_.load(heard.own, address(message));
    if (has_rest || emitted_.sources_ == 1) machine_.clear(heard.rest);
    if (emitted_.sources_ == 1) machine_.move(heard.pull, heard.rest);
    for (std::size_t k = 1; k < emitted_.sources_; ++k) {
      const Vec one = k == 1 ? heard.pull : machine_.fresh();
      machine_.load(one, address(message, For::reading, k));
      machine_.calculate(Operation::subtract, one, one, heard.own);
      machine_.calculate(Operation::multiply, one, one, constant_at(k));
      if (k == 1) continue;
      if (!has_rest) {
        machine_.calculate(Operation::add, heard.pull, heard.pull, one);
        continue;
      }
      const Vec next = machine_.fresh(), added = machine_.fresh(), lost = machine_.fresh();
      machine_.calculate(Operation::add, next, heard.pull, one);  // add_with_rest()
      machine_.calculate(Operation::subtract, added, next, heard.pull);
      machine_.calculate(Operation::subtract, lost, next, added);
      machine_.calculate(Operation::subtract, lost, heard.pull, lost);
      machine_.calculate(Operation::subtract, added, one, added);
      machine_.calculate(Operation::add, lost, lost, added);
      machine_.calculate(Operation::add, heard.rest, heard.rest, lost);
      machine_.move(heard.pull, next);
    }
    return heard;
  }

  bool is_read_once(const Operand& operand) const {
    return machine_.reads_memory() && operand.kind != Kind::constant &&
           operand.kind != Kind::register_ && !is_taken_here(operand) &&
           uses_.find(operand)->second == 1;
  }
  // A place in memory, if no other code needs the value in a register.
  Source source(const Operand& operand) {
    if (is_read_once(operand)) return machine_.memory(address(operand));
    return value(operand);
  }

  Vec operate(Operation code, const Operand& a, const Operand& b, bool commutes = false) {
    if (commutes && is_read_once(a)) return operate(code, b, a);
    const Source right = source(b);
    const Vec left = value(a), to = machine_.fresh();
    machine_.calculate(code, to, left, right);
    return to;
  }
  // 1 in elements where the comparison holds, else 0; false for NaN.
  Vec compare(const Vec& a, const Source& b, Operation code) {
    const Vec to = machine_.fresh();
    machine_.compare(code, to, a, b);
    machine_.bits_of_both(to, to, literal(0x3f800000));
    return to;
  }

  void execute(const Instruction& instruction) {
    if (is_reduction(instruction.code)) return reduce(instruction);
    values_[instruction.to] = result(instruction);
  }

  Vec result(const Instruction& instruction) {
    const Operand &a = instruction.a, &b = instruction.b;
    switch (instruction.code) {
      case Operation::add:
      case Operation::multiply:
        return operate(instruction.code, a, b, true);
      case Operation::subtract:
      case Operation::divide:
        return operate(instruction.code, a, b);
      case Operation::minimum:
      case Operation::maximum:
        return operate(instruction.code, b, a);
      case Operation::less:
      case Operation::less_equal:
      case Operation::greater:
      case Operation::greater_equal:
      case Operation::equal: {
        const Vec left = value(a);
        return compare(left, source(b), instruction.code);
      }
      default:
        return other_result(instruction);
    }
  }

  Vec other_result(const Instruction& instruction) {
    const Vec a = value(instruction.a);
    const Vec to = machine_.fresh();
    switch (instruction.code) {
      case Operation::negate:
        machine_.other_bits(to, a, literal(0x80000000));
        return to;
      case Operation::square_root:
        machine_.square_root(to, a);
        return to;
      case Operation::absolute:
        machine_.bits_of_both(to, a, literal(0x7fffffff));
        return to;
      case Operation::sign: {
        const Vec above = compare(a, literal(0), Operation::greater);
        machine_.calculate(Operation::subtract, to, above, compare(a, literal(0), Operation::less));
        return to;
      }
      case Operation::where: {
        const Vec no = value(instruction.c);
        machine_.choose(to, a, literal(0), value(instruction.b), no);
        return to;
      }
      default:
        return a;  // a value is written only once
    }
  }

  Sums sums_of(std::uint16_t reduction) {
    if (const auto made = sums_.find(reduction); made != sums_.end()) return made->second;
    return sums_[reduction] = {machine_.lanes(reduction * 2), machine_.lanes(reduction * 2 + 1)};
  }
  void reduce(const Instruction& instruction) {
    const Sums sums = sums_of(instruction.to);
    const Sums a = machine_.in_double(value(instruction.a));
    if (instruction.code != Operation::sum) {
      const Sums b =
          instruction.code == Operation::dot ? machine_.in_double(value(instruction.b)) : a;
      for (int half = 0; half < 2; ++half)
        machine_.calculate_lanes(Operation::multiply, a[half], a[half], b[half]);
    }
    for (int half = 0; half < 2; ++half)
      machine_.calculate_lanes(Operation::add, sums[half], sums[half], a[half]);
  }

  // Emitted after all loads.
  void store() {
    std::vector<Vec> from;
    for (const Pass::Store& one : pass_.stores) from.push_back(value(one.from));
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Operand& to = pass_.stores[k].to;
      const bool is_copy = EmittedPass::Place{.operand = to}.is_copy();
      machine_.store(address(to, For::writing), from[k], is_copy);
    }
  }

  const Pass& pass_;
  EmittedPass& emitted_;
  Machine machine_;
  std::map<Operand, int> uses_;                      // number of reads
  std::vector<typename Machine::Pointer> pointers_;  // by place
  std::map<std::size_t, Vec> constant_values_;       // by constant
  std::vector<Vec> values_;                          // by register of the pass
  std::map<std::uint32_t, Vec> literals_;
  std::map<Operand, Vec> loaded_;
  std::map<std::uint16_t, Heard> heard_;
  std::map<std::uint16_t, Sums> sums_;
};

template <class Machine>
std::unique_ptr<EmittedPass> EmittedPass::write(const Pass& pass, std::size_t sources, bool streams,
                                                bool wide, MachineCode& code) {
  const bool reduces = std::ranges::any_of(
      pass.instructions, [](const Instruction& one) { return is_reduction(one.code); });
  if (reduces && pass.has_decay) return nullptr;  // its ranges may begin in the middle of the lanes
  std::unique_ptr<EmittedPass> made(new EmittedPass);
  made->has_decay_ = pass.has_decay;
  made->sources_ = sources;
  made->streams_ = streams;
  made->is_wide_ = wide && std::ranges::none_of(pass.instructions, [](const Instruction& one) {
                     const bool compares =
                         one.code >= Operation::less && one.code <= Operation::equal;
                     return compares || one.code == Operation::sign || one.code >= Operation::where;
                   });  // it makes no masks, and no sums of eight lanes
  if (!Emission<Machine>(pass, *made, code.holder).write()) return nullptr;
  const auto taken = std::ranges::count_if(
      made->places_, [](const Place& place) { return is_of_all_heard(place.operand); });
  made->is_plain_ = !reduces && !streams && (sources > 0 || taken == 0);
  const bool fits = made->places_.size() <= kMostPlaces &&
                    sources + made->constants_.size() <= kMostConstants &&
                    (sources > 0 || taken <= static_cast<std::ptrdiff_t>(kMostTaken));
  return fits ? std::move(made) : nullptr;
}

}  // namespace acid
