#include "engine/language/emitter.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "engine/worker/backend.hpp"

#if defined(ACID_WITH_ASMJIT)
#include <asmjit/x86.h>
#include <sys/mman.h>
#endif

namespace acid {

#if defined(ACID_WITH_ASMJIT)

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
    function->frame().setAvxCleanup();
    x86::Gp* const arguments[] = {&places_, &constants_, &lanes_, &bytes_};
    for (std::uint32_t k = 0; k < std::size(arguments); ++k) {
      *arguments[k] = cc_.newIntPtr();
      function->setArg(k, *arguments[k]);
    }
    index_ = cc_.newIntPtr();
    cc_.xor_(index_, index_);
    before_ = cc_.cursor();
    const auto loop = cc_.newLabel();
    cc_.bind(loop);
    for (const Instruction& one : pass_.instructions) execute(one);
    store();
    cc_.add(index_, kBytes);
    cc_.cmp(index_, bytes_);
    cc_.jb(loop);
    if (emitted_.streams_) cc_.sfence();
    for (const auto& [reduction, sums] : sums_)
      for (int half = 0; half < 2; ++half) cc_.vmovupd(lanes(reduction, half), sums[half]);
    cc_.endFunc();
    return cc_.finalize() == asmjit::kErrorOk;
  }

 private:
  using Kind = Operand::Kind;
  using Ymm = x86::Ymm;
  using Sums = std::array<Ymm, 2>;   // lanes 0 to 3, and 4 to 7, in double
  static constexpr int kBytes = 32;  // a vector register
  // The predicate of a comparison; all but the last are false for NaN.
  enum Predicate {
    kEqual = 0,
    kLess = 17,
    kLessEqual = 18,
    kGreaterEqual = 29,
    kGreater = 30,
    kUnequal = 4
  };

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
    return x86::ymmword_ptr(pointers_[index], index_);
  }

  Ymm constant(std::uint16_t number) {
    auto& constants = emitted_.constants_;
    const auto found = std::ranges::find(constants, number);
    const auto index = static_cast<std::size_t>(found - constants.begin());
    if (found == constants.end()) constants.push_back(number);
    return constant_at(emitted_.sources_ + index);
  }
  Ymm constant_at(std::size_t index) {
    if (const auto made = constant_values_.find(index); made != constant_values_.end())
      return made->second;
    const Ymm value = constant_values_[index] = cc_.newYmm();
    before_loop([&] {
      cc_.vbroadcastss(value, x86::dword_ptr(constants_, static_cast<int>(index * sizeof(float))));
    });
    return value;
  }

  Ymm literal(std::uint32_t bits) {
    if (const auto made = literals_.find(bits); made != literals_.end()) return made->second;
    const Ymm value = literals_[bits] = cc_.newYmm();
    before_loop([&] {
      const x86::Gp general = cc_.newUInt32();
      cc_.mov(general, bits);
      cc_.vmovd(value.xmm(), general);
      cc_.vpbroadcastd(value, value.xmm());
    });
    return value;
  }
  Ymm one() { return literal(0x3f800000); }
  Ymm zero() { return literal(0); }
  Ymm sign_bit() { return literal(0x80000000); }

  Ymm value(const Operand& operand) {
    if (operand.kind == Kind::constant) return constant(operand.index);
    if (operand.kind == Kind::register_) return values_[operand.index];
    if (const auto made = loaded_.find(operand); made != loaded_.end()) return made->second;
    const Ymm value = loaded_[operand] = cc_.newYmm();
    if (is_taken_here(operand))
      take(operand, value);
    else
      cc_.vmovups(value, address(operand));
    return value;
  }

  bool is_taken_here(const Operand& operand) const {
    return is_of_all_heard(operand) && emitted_.sources_ > 0;
  }

  // Emits PassMemory::take() for all operands made of one message.
  void take(const Operand& operand, const Ymm& to) {
    const Heard& heard = heard_of(operand.index);
    if (operand.kind == Kind::mean && emitted_.sources_ > 1)
      cc_.vaddps(to, heard.own, heard.pull);
    else
      cc_.vmovaps(to, operand.kind == Kind::mean   ? heard.own
                      : operand.kind == Kind::pull ? heard.pull
                                                   : heard.rest);
  }

  struct Heard {
    Ymm own, pull, rest;
  };
  const Heard& heard_of(std::uint16_t index) {
    if (const auto made = heard_.find(index); made != heard_.end()) return made->second;
    Heard& heard = heard_[index];
    const Operand message{Kind::mean, index};
    const bool has_rest = uses_.contains({Kind::rest, index});
    heard = {cc_.newYmm(), cc_.newYmm(), cc_.newYmm()};
    cc_.vmovups(heard.own, address(message));
    if (has_rest || emitted_.sources_ == 1) cc_.vxorps(heard.rest, heard.rest, heard.rest);
    if (emitted_.sources_ == 1) cc_.vmovaps(heard.pull, heard.rest);
    for (std::size_t k = 1; k < emitted_.sources_; ++k) {
      const Ymm one = k == 1 ? heard.pull : cc_.newYmm();
      cc_.vmovups(one, address(message, For::reading, k));
      cc_.vsubps(one, one, heard.own);
      cc_.vmulps(one, one, constant_at(k));
      if (k == 1) continue;
      if (!has_rest) {
        cc_.vaddps(heard.pull, heard.pull, one);
        continue;
      }
      const Ymm next = cc_.newYmm(), added = cc_.newYmm(), lost = cc_.newYmm();
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
    return operand.kind != Kind::constant && operand.kind != Kind::register_ &&
           !is_taken_here(operand) && uses_.find(operand)->second == 1;
  }
  // A memory operand, if no other code needs the value in a register.
  asmjit::Operand source(const Operand& operand) {
    if (is_read_once(operand)) return address(operand);
    return value(operand);
  }

  Ymm operate(x86::Inst::Id code, const Operand& a, const Operand& b) {
    const asmjit::Operand right = source(b);
    const Ymm left = value(a), to = cc_.newYmm();
    cc_.emit(code, to, left, right);
    return to;
  }
  Ymm commute(x86::Inst::Id code, const Operand& a, const Operand& b) {
    return is_read_once(a) ? operate(code, b, a) : operate(code, a, b);
  }
  // All bits are one in elements where the comparison holds.
  Ymm compare(const Ymm& a, const asmjit::Operand& b, Predicate predicate) {
    const Ymm to = cc_.newYmm();
    cc_.emit(x86::Inst::kIdVcmpps, to, a, b, asmjit::Imm(static_cast<int>(predicate)));
    return to;
  }
  Ymm as_number(const Ymm& mask) {
    cc_.vandps(mask, mask, one());
    return mask;
  }
  Ymm compare(const Operand& a, const Operand& b, Predicate predicate) {
    const Ymm left = value(a);
    return as_number(compare(left, source(b), predicate));
  }

  void execute(const Instruction& instruction) {
    if (instruction.code >= Code::add_square) return reduce(instruction);
    values_[instruction.to] = result(instruction);
  }

  Ymm result(const Instruction& instruction) {
    const Operand &a = instruction.a, &b = instruction.b;
    switch (instruction.code) {
      case Code::add:
        return commute(x86::Inst::kIdVaddps, a, b);
      case Code::subtract:
        return operate(x86::Inst::kIdVsubps, a, b);
      case Code::multiply:
        return commute(x86::Inst::kIdVmulps, a, b);
      case Code::divide:
        return operate(x86::Inst::kIdVdivps, a, b);
      case Code::less:
        return compare(a, b, kLess);
      case Code::less_equal:
        return compare(a, b, kLessEqual);
      case Code::greater:
        return compare(a, b, kGreater);
      case Code::greater_equal:
        return compare(a, b, kGreaterEqual);
      case Code::equal:
        return compare(a, b, kEqual);
      case Code::minimum:  // the instruction returns its second operand unless the first is less
        return operate(x86::Inst::kIdVminps, b, a);
      case Code::maximum:
        return operate(x86::Inst::kIdVmaxps, b, a);
      default:
        return other_result(instruction);
    }
  }

  Ymm other_result(const Instruction& instruction) {
    const Ymm a = value(instruction.a);
    Ymm to = cc_.newYmm();
    switch (instruction.code) {
      case Code::negate:
        cc_.vxorps(to, a, sign_bit());
        return to;
      case Code::square_root:
        cc_.vsqrtps(to, a);
        return to;
      case Code::absolute:
        cc_.vandps(to, a, literal(0x7fffffff));
        return to;
      case Code::sign: {
        const Ymm above = as_number(compare(a, zero(), kGreater));
        cc_.vsubps(to, above, as_number(compare(a, zero(), kLess)));
        return to;
      }
      case Code::where: {
        const Ymm chosen = compare(a, zero(), kUnequal), c = value(instruction.c);
        cc_.vblendvps(to, c, value(instruction.b), chosen);
        return to;
      }
      default:
        return a;  // a value is written only once
    }
  }

  x86::Mem lanes(std::uint16_t reduction, int half) const {
    return x86::ymmword_ptr(lanes_, (reduction * 2 + half) * kBytes);
  }
  Sums sums_of(std::uint16_t reduction) {
    if (const auto made = sums_.find(reduction); made != sums_.end()) return made->second;
    const Sums sums = sums_[reduction] = {cc_.newYmm(), cc_.newYmm()};
    for (int half = 0; half < 2; ++half)
      before_loop([&] { cc_.vmovupd(sums[half], lanes(reduction, half)); });
    return sums;
  }
  Sums in_double(const Ymm& value) {
    const Sums halves{cc_.newYmm(), cc_.newYmm()};
    cc_.vcvtps2pd(halves[0], value.xmm());
    cc_.vextractf128(halves[1].xmm(), value, 1);
    cc_.vcvtps2pd(halves[1], halves[1].xmm());
    return halves;
  }

  void reduce(const Instruction& instruction) {
    const Sums sums = sums_of(instruction.to);
    const Sums a = in_double(value(instruction.a));
    if (instruction.code != Code::add_value) {
      const Sums b = instruction.code == Code::add_product ? in_double(value(instruction.b)) : a;
      for (int half = 0; half < 2; ++half) cc_.vmulpd(a[half], a[half], b[half]);
    }
    for (int half = 0; half < 2; ++half) cc_.vaddpd(sums[half], sums[half], a[half]);
  }

  // Emitted after all loads.
  void store() {
    std::vector<Ymm> from;
    for (const Pass::Store& one : pass_.stores) from.push_back(value(one.from));
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Operand& to = pass_.stores[k].to;
      const bool streams = emitted_.streams_ && to.kind == Kind::said;
      cc_.emit(streams ? x86::Inst::kIdVmovntps : x86::Inst::kIdVmovups, address(to, For::writing),
               from[k]);
    }
  }

  const Pass& pass_;
  EmittedPass& emitted_;
  x86::Compiler cc_;
  asmjit::BaseNode* before_ = nullptr;  // code inserted before it runs once
  x86::Gp places_, constants_, lanes_, bytes_, index_;
  std::map<Operand, int> uses_;                 // number of reads
  std::vector<x86::Gp> pointers_;               // by place
  std::map<std::size_t, Ymm> constant_values_;  // by constant
  std::vector<Ymm> values_;                     // by register of the pass
  std::map<std::uint32_t, Ymm> literals_;
  std::map<Operand, Ymm> loaded_;
  std::map<std::uint16_t, Heard> heard_;
  std::map<std::uint16_t, Sums> sums_;
};

namespace {

// Null when the system forbids executable memory.
void* executable_copy(asmjit::CodeHolder& code, std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const bool written =
      code.relocateToBase(reinterpret_cast<std::uint64_t>(memory)) == asmjit::kErrorOk &&
      code.copyFlattenedData(memory, bytes) == asmjit::kErrorOk;
  if (written && mprotect(memory, bytes, PROT_READ | PROT_EXEC) == 0) return memory;
  munmap(memory, bytes);
  return nullptr;
}

}  // namespace

std::unique_ptr<const EmittedPass> EmittedPass::emit(const Pass& pass, std::size_t sources,
                                                     bool streams) {
  const bool reduces = std::ranges::any_of(
      pass.instructions, [](const Instruction& one) { return one.code >= Code::add_square; });
  if (reduces && pass.has_decay) return nullptr;  // its ranges may begin in the middle of the lanes
  std::unique_ptr<EmittedPass> made(new EmittedPass);
  made->has_decay_ = pass.has_decay;
  made->sources_ = sources;
  made->streams_ = streams;
  asmjit::CodeHolder code;
  if (code.init(asmjit::Environment::host()) != asmjit::kErrorOk ||
      !Emission(pass, *made, code).write())
    return nullptr;
  const auto taken = std::ranges::count_if(
      made->places_, [](const Place& place) { return is_of_all_heard(place.operand); });
  if (sources == 0 && taken > static_cast<std::ptrdiff_t>(kMostTaken)) return nullptr;
  if (made->places_.size() > kMostPlaces || sources + made->constants_.size() > kMostConstants)
    return sources > 0 ? emit(pass, 0, streams) : nullptr;
  made->bytes_ = code.codeSize();
  made->memory_ = executable_copy(code, made->bytes_);
  if (made->memory_ == nullptr) return nullptr;
  return made;
}

#else

std::unique_ptr<const EmittedPass> EmittedPass::emit(const Pass&, std::size_t, bool) {
  return nullptr;
}
#endif

}  // namespace acid
