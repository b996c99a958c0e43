#pragma once

#include <asmjit/arm/a64compiler.h>
#include <asmjit/core.h>

#include <array>

#include "engine/language/machine_function.hpp"
#include "engine/language/program.hpp"

namespace acid {

namespace a64 = asmjit::a64;

/// The instructions of AArch64 that Emission writes: eight elements at a time, in two registers.
class A64Machine : private MachineFunction<a64::Compiler, a64::Gp> {
 public:
  struct Vec {
    a64::Vec low, high;  // elements 0 to 3, and 4 to 7; or as many lanes in double as fit
  };
  using Source = Vec;
  using Pointer = a64::Gp;

  A64Machine(asmjit::CodeHolder& code, bool /*wide*/, bool /*streams*/) : MachineFunction(code) {}

  template <class Body, class After>
  bool write(const Body& body, const After& after) {
    begin();
    cc_.mov(index_, 0);
    begin_loop();
    const auto loop = cc_.newLabel();
    cc_.bind(loop);
    body();
    cc_.add(index_, index_, 32);
    cc_.cmp(index_, bytes_);
    cc_.b_lo(loop);
    after();
    return finish();
  }

  Vec fresh() { return {cc_.newVecQ(), cc_.newVecQ()}; }
  Pointer pointer(std::size_t place) {
    const Pointer made = cc_.newIntPtr();
    before_loop(
        [&] { cc_.ldr(made, a64::ptr(places_, static_cast<int>(place * sizeof(float*)))); });
    return made;
  }
  Vec constant(std::size_t index) {
    const a64::Vec made = cc_.newVecQ();
    before_loop([&] {
      const a64::Gp bits = cc_.newUInt32();
      cc_.ldr(bits, a64::ptr(constants_, static_cast<int>(index * sizeof(float))));
      cc_.dup(made.s4(), bits);
    });
    return {made, made};
  }
  Vec literal(std::uint32_t value) {
    const a64::Vec made = cc_.newVecQ();
    before_loop([&] {
      const a64::Gp bits = cc_.newUInt32();
      cc_.movz(bits, value & 0xffff);
      cc_.movk(bits, value >> 16, 16);
      cc_.dup(made.s4(), bits);
    });
    return {made, made};
  }

  bool reads_memory() const { return false; }
  Source memory(const Pointer& from) {
    const Vec made = fresh();
    load(made, from);
    return made;
  }
  void load(const Vec& to, const Pointer& from) {
    const a64::Gp place = at(from);
    cc_.ldr(to.low, a64::ptr(place));
    cc_.ldr(to.high, a64::ptr(place, 16));
  }
  void store(const Pointer& to, const Vec& from, bool /*is_copy*/) {
    const a64::Gp place = at(to);
    cc_.str(from.low, a64::ptr(place));
    cc_.str(from.high, a64::ptr(place, 16));
  }
  void move(const Vec& to, const Vec& a) {
    cc_.mov(to.low.b16(), a.low.b16());
    cc_.mov(to.high.b16(), a.high.b16());
  }
  void clear(const Vec& to) {
    cc_.movi(to.low.s4(), 0);
    cc_.movi(to.high.s4(), 0);
  }

  /// Arithmetic; `minimum` is b unless a is less, and `maximum` b unless a is greater.
  void calculate(Operation code, const Vec& to, const Vec& a, const Source& b) {
    if (code == Operation::minimum || code == Operation::maximum) {
      const bool turned = code == Operation::minimum;
      compare(Operation::greater, to, turned ? b : a, turned ? a : b);
      select(to, a, b);
      return;
    }
    floats(code == Operation::add        ? a64::Inst::kIdFadd_v
           : code == Operation::subtract ? a64::Inst::kIdFsub_v
           : code == Operation::multiply ? a64::Inst::kIdFmul_v
                                         : a64::Inst::kIdFdiv_v,
           to, a, b);
  }
  void square_root(const Vec& to, const Vec& a) {
    cc_.fsqrt(to.low.s4(), a.low.s4());
    cc_.fsqrt(to.high.s4(), a.high.s4());
  }
  void bits_of_both(const Vec& to, const Vec& a, const Vec& b) {
    cc_.and_(to.low.b16(), a.low.b16(), b.low.b16());
    cc_.and_(to.high.b16(), a.high.b16(), b.high.b16());
  }
  void other_bits(const Vec& to, const Vec& a, const Vec& b) {
    cc_.eor(to.low.b16(), a.low.b16(), b.low.b16());
    cc_.eor(to.high.b16(), a.high.b16(), b.high.b16());
  }
  /// All bits of the elements where the comparison holds; none for NaN.
  void compare(Operation code, const Vec& to, const Vec& a, const Source& b) {
    const bool turned = code == Operation::less || code == Operation::less_equal;
    const bool strict = code == Operation::less || code == Operation::greater;
    floats(code == Operation::equal ? a64::Inst::kIdFcmeq_v
           : strict                 ? a64::Inst::kIdFcmgt_v
                                    : a64::Inst::kIdFcmge_v,
           to, turned ? b : a, turned ? a : b);
  }
  /// a ≠ b ? yes : no; also of NaN, which equals nothing.
  void choose(const Vec& to, const Vec& a, const Vec& b, const Vec& yes, const Vec& no) {
    compare(Operation::equal, to, a, b);
    select(to, no, yes);
  }

  /// Four sums in double, which the function is given before the loop and gives back after it.
  Vec lanes(int index) {
    const Vec made = fresh();
    before_loop([&] {
      cc_.ldr(made.low, a64::ptr(lanes_, index * 32));
      cc_.ldr(made.high, a64::ptr(lanes_, index * 32 + 16));
    });
    return made;
  }
  void store_lanes(int index, const Vec& from) {
    cc_.str(from.low, a64::ptr(lanes_, index * 32));
    cc_.str(from.high, a64::ptr(lanes_, index * 32 + 16));
  }
  std::array<Vec, 2> in_double(const Vec& value) {
    const std::array<Vec, 2> halves{fresh(), fresh()};
    const a64::Vec* const from[] = {&value.low, &value.high};
    for (std::size_t half = 0; half < 2; ++half) {
      cc_.fcvtl(halves[half].low.d2(), from[half]->s2());
      cc_.fcvtl2(halves[half].high.d2(), from[half]->s4());
    }
    return halves;
  }
  /// Adds or multiplies.
  void calculate_lanes(Operation code, const Vec& to, const Vec& a, const Vec& b) {
    const auto how = code == Operation::add ? a64::Inst::kIdFadd_v : a64::Inst::kIdFmul_v;
    cc_.emit(how, to.low.d2(), a.low.d2(), b.low.d2());
    cc_.emit(how, to.high.d2(), a.high.d2(), b.high.d2());
  }

 private:
  a64::Gp at(const Pointer& pointer) {
    const a64::Gp place = cc_.newIntPtr();
    cc_.add(place, pointer, index_);
    return place;
  }
  void floats(a64::Inst::Id code, const Vec& to, const Vec& a, const Vec& b) {
    cc_.emit(code, to.low.s4(), a.low.s4(), b.low.s4());
    cc_.emit(code, to.high.s4(), a.high.s4(), b.high.s4());
  }
  // `to` has the mask.
  void select(const Vec& to, const Vec& yes, const Vec& no) {
    cc_.bsl(to.low.b16(), yes.low.b16(), no.low.b16());
    cc_.bsl(to.high.b16(), yes.high.b16(), no.high.b16());
  }
};

}  // namespace acid
