#pragma once

#include <asmjit/x86.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "engine/language/emitter.hpp"

namespace acid {

namespace x86 = asmjit::x86;

/// Writes the code of one pass. asmjit has an unlimited number of registers: it assigns them, and
/// keeps in memory those for which the processor has none.
class Emission {
 public:
  Emission(const Pass& pass, EmittedPass& emitted, asmjit::CodeHolder& code)
      : pass_(pass), emitted_(emitted), cc_(&code), values_(pass.registers) {
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
    auto* const function =
        cc_.addFunc(asmjit::FuncSignatureT<void, const void*, const void*, void*, std::size_t>());
    function->frame().setAvxEnabled();
    if (emitted_.is_wide_) function->frame().setAvx512Enabled();
    function->frame().setAvxCleanup();
    x86::Gp* const arguments[] = {&places_, &constants_, &lanes_, &bytes_};
    for (std::uint32_t k = 0; k < std::size(arguments); ++k) {
      *arguments[k] = cc_.newIntPtr();
      function->setArg(k, *arguments[k]);
    }
    index_ = cc_.newIntPtr();
    cc_.xor_(index_, index_);
    before_ = cc_.cursor();
    if (emitted_.is_wide_)
      write_wide_loop();
    else
      write_loop(bytes_);
    if (emitted_.streams_) cc_.sfence();
    for (const auto& [reduction, sums] : sums_)
      for (int half = 0; half < 2; ++half) cc_.vmovupd(lanes(reduction, half), sums[half]);
    cc_.endFunc();
    return cc_.finalize() == asmjit::kErrorOk;
  }

 private:
  using Kind = Operand::Kind;
  using Vec = x86::Vec;
  using Sums = std::array<Vec, 2>;  // lanes 0 to 3, and 4 to 7, in double
  // The predicate of a comparison; all but the last are false for NaN.
  enum Predicate {
    kEqual = 0,
    kLess = 17,
    kLessEqual = 18,
    kGreaterEqual = 29,
    kGreater = 30,
    kUnequal = 4
  };

  Vec fresh() {
    if (emitted_.is_wide_) return cc_.newZmm();
    return cc_.newYmm();
  }

  void write_body() {
    loaded_.clear();
    heard_.clear();
    for (const Instruction& one : pass_.instructions) execute(one);
    store();
  }
  void write_loop(const x86::Gp& end) {
    const auto loop = cc_.newLabel();
    cc_.bind(loop);
    write_body();
    cc_.add(index_, emitted_.width() * static_cast<int>(sizeof(float)));
    cc_.cmp(index_, end);
    cc_.jb(loop);
  }
  // The rest, of less than a register, is loaded and stored under a mask.
  void write_wide_loop() {
    const x86::Gp whole = cc_.newIntPtr(), rest = cc_.newIntPtr(), ones = cc_.newIntPtr();
    const auto tail = cc_.newLabel(), end = cc_.newLabel();
    cc_.mov(whole, bytes_);
    cc_.and_(whole, -64);
    cc_.jz(tail);
    write_loop(whole);
    cc_.bind(tail);
    cc_.mov(rest, bytes_);
    cc_.sub(rest, whole);
    cc_.jz(end);
    cc_.shr(rest, 2);
    cc_.mov(ones, -1);
    cc_.bzhi(ones, ones, rest);
    mask_ = cc_.newKw();
    cc_.kmovw(mask_, ones.r32());
    is_masked_ = true;
    write_body();
    cc_.bind(end);
  }

  void load(const Vec& to, const x86::Mem& from) {
    if (is_masked_) cc_.k(mask_).z();
    cc_.vmovups(to, from);
  }

  template <class Function>
  void before_loop(const Function& emit) {
    auto* const here = cc_.setCursor(before_);
    emit();
    before_ = cc_.setCursor(here);
  }

  enum class For { reading, writing };
  x86::Mem address(const Operand& operand, For what = For::reading, std::size_t source = 0) {
    auto& places = emitted_.places_;
    const auto found = std::ranges::find_if(places, [&](const EmittedPass::Place& place) {
      return place.operand == operand && place.source == source;
    });
    const auto index = static_cast<std::size_t>(found - places.begin());
    if (found == places.end()) places.push_back({operand, source});
    (what == For::writing ? places[index].is_written : places[index].is_read) = true;
    if (index == pointers_.size()) {
      pointers_.push_back(cc_.newIntPtr());
      before_loop([&] {
        cc_.mov(pointers_[index],
                x86::qword_ptr(places_, static_cast<int>(index * sizeof(float*))));
      });
    }
    return emitted_.is_wide_ ? x86::zmmword_ptr(pointers_[index], index_)
                             : x86::ymmword_ptr(pointers_[index], index_);
  }

  Vec constant_at(std::size_t index) {
    if (const auto made = constant_values_.find(index); made != constant_values_.end())
      return made->second;
    const Vec value = constant_values_[index] = fresh();
    before_loop([&] {
      cc_.vbroadcastss(value, x86::dword_ptr(constants_, static_cast<int>(index * sizeof(float))));
    });
    return value;
  }

  Vec literal(std::uint32_t bits) {
    if (const auto made = literals_.find(bits); made != literals_.end()) return made->second;
    const Vec value = literals_[bits] = fresh();
    before_loop([&] {
      const x86::Gp general = cc_.newUInt32();
      cc_.mov(general, bits);
      cc_.vmovd(value.xmm(), general);
      cc_.vpbroadcastd(value, value.xmm());
    });
    return value;
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
    const Vec value = loaded_[operand] = fresh();
    if (is_taken_here(operand))
      take(operand, value);
    else
      load(value, address(operand));
    return value;
  }

  bool is_taken_here(const Operand& operand) const {
    return is_of_all_heard(operand) && emitted_.sources_ > 0;
  }

  // Emits PassMemory::take() for all operands made of one message.
  void take(const Operand& operand, const Vec& to) {
    const Heard& heard = heard_of(operand.index);
    if (operand.kind == Kind::mean && emitted_.sources_ > 1)
      cc_.vaddps(to, heard.own, heard.pull);
    else
      cc_.vmovaps(to, operand.kind == Kind::mean   ? heard.own
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
    heard = {fresh(), fresh(), fresh()};
    load(heard.own, address(message));
    if (has_rest || emitted_.sources_ == 1) cc_.vxorps(heard.rest, heard.rest, heard.rest);
    if (emitted_.sources_ == 1) cc_.vmovaps(heard.pull, heard.rest);
    for (std::size_t k = 1; k < emitted_.sources_; ++k) {
      const Vec one = k == 1 ? heard.pull : fresh();
      load(one, address(message, For::reading, k));
      cc_.vsubps(one, one, heard.own);
      cc_.vmulps(one, one, constant_at(k));
      if (k == 1) continue;
      if (!has_rest) {
        cc_.vaddps(heard.pull, heard.pull, one);
        continue;
      }
      const Vec next = fresh(), added = fresh(), lost = fresh();
      cc_.vaddps(next, heard.pull, one);  // add_with_rest()
      cc_.vsubps(added, next, heard.pull);
      cc_.vsubps(lost, next, added);
      cc_.vsubps(lost, heard.pull, lost);
      cc_.vsubps(added, one, added);
      cc_.vaddps(lost, lost, added);
      cc_.vaddps(heard.rest, heard.rest, lost);
      cc_.vmovaps(heard.pull, next);
    }
    return heard;
  }

  bool is_read_once(const Operand& operand) const {
    return !is_masked_ && operand.kind != Kind::constant && operand.kind != Kind::register_ &&
           !is_taken_here(operand) && uses_.find(operand)->second == 1;
  }
  // A memory operand, if no other code needs the value in a register.
  asmjit::Operand source(const Operand& operand) {
    if (is_read_once(operand)) return address(operand);
    return value(operand);
  }

  Vec operate(x86::Inst::Id code, const Operand& a, const Operand& b, bool commutes = false) {
    if (commutes && is_read_once(a)) return operate(code, b, a);
    const asmjit::Operand right = source(b);
    const Vec left = value(a), to = fresh();
    cc_.emit(code, to, left, right);
    return to;
  }
  // 1 in elements where the comparison holds, else 0; of kUnequal all bits are 1.
  Vec compare(const Vec& a, const asmjit::Operand& b, Predicate predicate) {
    const Vec to = fresh();
    cc_.emit(x86::Inst::kIdVcmpps, to, a, b, asmjit::Imm(static_cast<int>(predicate)));
    if (predicate != kUnequal) cc_.vandps(to, to, literal(0x3f800000));
    return to;
  }
  Vec compare(const Operand& a, const Operand& b, Predicate predicate) {
    const Vec left = value(a);
    return compare(left, source(b), predicate);
  }

  void execute(const Instruction& instruction) {
    if (is_reduction(instruction.code)) return reduce(instruction);
    values_[instruction.to] = result(instruction);
  }

  Vec result(const Instruction& instruction) {
    const Operand &a = instruction.a, &b = instruction.b;
    switch (instruction.code) {
      case Operation::add:
        return operate(x86::Inst::kIdVaddps, a, b, true);
      case Operation::subtract:
        return operate(x86::Inst::kIdVsubps, a, b);
      case Operation::multiply:
        return operate(x86::Inst::kIdVmulps, a, b, true);
      case Operation::divide:
        return operate(x86::Inst::kIdVdivps, a, b);
      case Operation::less:
        return compare(a, b, kLess);
      case Operation::less_equal:
        return compare(a, b, kLessEqual);
      case Operation::greater:
        return compare(a, b, kGreater);
      case Operation::greater_equal:
        return compare(a, b, kGreaterEqual);
      case Operation::equal:
        return compare(a, b, kEqual);
      case Operation::minimum:  // the instruction returns its second operand unless the first is
                                // less
        return operate(x86::Inst::kIdVminps, b, a);
      case Operation::maximum:
        return operate(x86::Inst::kIdVmaxps, b, a);
      default:
        return other_result(instruction);
    }
  }

  Vec other_result(const Instruction& instruction) {
    const Vec a = value(instruction.a);
    Vec to = fresh();
    switch (instruction.code) {
      case Operation::negate:
        cc_.vxorps(to, a, literal(0x80000000));
        return to;
      case Operation::square_root:
        cc_.vsqrtps(to, a);
        return to;
      case Operation::absolute:
        cc_.vandps(to, a, literal(0x7fffffff));
        return to;
      case Operation::sign: {
        const Vec above = compare(a, literal(0), kGreater);
        cc_.vsubps(to, above, compare(a, literal(0), kLess));
        return to;
      }
      case Operation::where: {
        const Vec chosen = compare(a, literal(0), kUnequal), c = value(instruction.c);
        cc_.vblendvps(to, c, value(instruction.b), chosen);
        return to;
      }
      default:
        return a;  // a value is written only once
    }
  }

  x86::Mem lanes(std::uint16_t reduction, int half) const {
    return x86::ymmword_ptr(lanes_, (reduction * 2 + half) * 32);
  }
  Sums sums_of(std::uint16_t reduction) {
    if (const auto made = sums_.find(reduction); made != sums_.end()) return made->second;
    const Sums sums = sums_[reduction] = {fresh(), fresh()};
    for (int half = 0; half < 2; ++half)
      before_loop([&] { cc_.vmovupd(sums[half], lanes(reduction, half)); });
    return sums;
  }
  Sums in_double(const Vec& value) {
    const Sums halves{fresh(), fresh()};
    cc_.vcvtps2pd(halves[0], value.xmm());
    cc_.vextractf128(halves[1].xmm(), value, 1);
    cc_.vcvtps2pd(halves[1], halves[1].xmm());
    return halves;
  }

  void reduce(const Instruction& instruction) {
    const Sums sums = sums_of(instruction.to);
    const Sums a = in_double(value(instruction.a));
    if (instruction.code != Operation::sum) {
      const Sums b = instruction.code == Operation::dot ? in_double(value(instruction.b)) : a;
      for (int half = 0; half < 2; ++half) cc_.vmulpd(a[half], a[half], b[half]);
    }
    for (int half = 0; half < 2; ++half) cc_.vaddpd(sums[half], sums[half], a[half]);
  }

  // Emitted after all loads.
  void store() {
    std::vector<Vec> from;
    for (const Pass::Store& one : pass_.stores) from.push_back(value(one.from));
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Operand& to = pass_.stores[k].to;
      const x86::Mem place = address(to, For::writing);
      if (is_masked_) {
        cc_.k(mask_).vmovups(place, from[k]);
        continue;
      }
      const bool streams = emitted_.streams_ && EmittedPass::Place{.operand = to}.is_copy();
      cc_.emit(streams ? x86::Inst::kIdVmovntps : x86::Inst::kIdVmovups, place, from[k]);
    }
  }

  const Pass& pass_;
  EmittedPass& emitted_;
  x86::Compiler cc_;
  asmjit::BaseNode* before_ = nullptr;  // code inserted before it runs once
  x86::Gp places_, constants_, lanes_, bytes_, index_;
  x86::KReg mask_;  // of the elements that are left
  bool is_masked_ = false;
  std::map<Operand, int> uses_;                 // number of reads
  std::vector<x86::Gp> pointers_;               // by place
  std::map<std::size_t, Vec> constant_values_;  // by constant
  std::vector<Vec> values_;                     // by register of the pass
  std::map<std::uint32_t, Vec> literals_;
  std::map<Operand, Vec> loaded_;
  std::map<std::uint16_t, Heard> heard_;
  std::map<std::uint16_t, Sums> sums_;
};

}  // namespace acid
