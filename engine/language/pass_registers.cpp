// Which instructions of a pass are needed, and the registers of their results.
#include <algorithm>
#include <map>

#include "engine/language/pass_builder.hpp"

namespace acid {

void PassBuilder::forget_unused() {
  std::vector<bool> used(pass_.registers);
  const auto use = [&](const Operand& operand) {
    if (operand.kind == Kind::register_ && operand.index < used.size()) used[operand.index] = true;
  };
  for (const Pass::Store& store : pass_.stores) use(store.from);
  auto& instructions = pass_.instructions;
  std::vector<Instruction> kept;
  for (auto one = instructions.rbegin(); one != instructions.rend(); ++one) {
    if (!is_reduction(one->code) && !used[one->to]) continue;
    const Operand operands[] = {one->a, one->b, one->c};
    std::for_each_n(operands, arguments_of(one->code), use);
    kept.push_back(*one);
  }
  std::ranges::reverse(kept);
  instructions = std::move(kept);
}

// Uses as few registers as possible: each is free again after its last use.
void PassBuilder::allocate_registers() {
  std::map<std::uint16_t, std::size_t> last_use;
  const auto note = [&](const Operand& operand, std::size_t at) {
    if (operand.kind == Kind::register_) last_use[operand.index] = at;
  };
  auto& instructions = pass_.instructions;
  for (std::size_t k = 0; k < instructions.size(); ++k) {
    Instruction& one = instructions[k];
    if (arguments_of(one.code) < 3) one.c = {Kind::constant, 0};
    if (arguments_of(one.code) < 2) one.b = {Kind::constant, 0};
    for (const Operand& operand : {one.a, one.b, one.c}) note(operand, k);
  }
  for (const Pass::Store& store : pass_.stores) note(store.from, instructions.size());
  std::map<std::uint16_t, std::uint16_t> now;
  std::vector<std::uint16_t> free;
  std::uint16_t count = 0;
  const auto rename = [&](Operand& operand) {
    if (operand.kind == Kind::register_) operand.index = now.at(operand.index);
  };
  for (std::size_t k = 0; k < instructions.size(); ++k) {
    Instruction& one = instructions[k];
    const std::vector<Operand> read{one.a, one.b, one.c};
    for (Operand* const operand : {&one.a, &one.b, &one.c}) rename(*operand);
    for (const Operand& operand : read)
      if (operand.kind == Kind::register_ && last_use[operand.index] == k) {
        const std::uint16_t place = now.at(operand.index);
        if (std::ranges::find(free, place) == free.end()) free.push_back(place);
      }
    if (is_reduction(one.code)) continue;
    std::uint16_t place = count;
    if (free.empty()) {
      ++count;
    } else {
      place = free.back();
      free.pop_back();
    }
    now[one.to] = place;
    one.to = place;
  }
  for (Pass::Store& store : pass_.stores) rename(store.from);
  pass_.registers = count;
}

}  // namespace acid
