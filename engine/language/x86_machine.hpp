#pragma once

#include <asmjit/x86.h>

#include <array>

#include "engine/language/machine_function.hpp"
#include "engine/language/program.hpp"

namespace acid {

namespace x86 = asmjit::x86;

/// The instructions of x86-64 that Emission writes: with AVX2 eight elements at a time, with
/// AVX-512 (`wide`) sixteen, and the rest of less than a register under a mask.
class X86Machine : private MachineFunction<x86::Compiler, x86::Gp> {
 public:
  using Vec = x86::Vec;
  using Source = asmjit::Operand;
  using Pointer = x86::Gp;

  X86Machine(asmjit::CodeHolder& code, bool wide, bool streams)
      : MachineFunction(code), is_wide_(wide), streams_(streams) {}

  /// `body` adds the code for as many elements as a register has, `after` what follows the loop.
  template <class Body, class After>
  bool write(const Body& body, const After& after) {
    auto* const function = begin();
    function->frame().setAvxEnabled();
    if (is_wide_) function->frame().setAvx512Enabled();
    function->frame().setAvxCleanup();
    cc_.xor_(index_, index_);
    begin_loop();
    if (is_wide_)
      write_wide_loop(body);
    else
      write_loop(bytes_, body);
    if (streams_) cc_.sfence();
    after();
    return finish();
  }

  Vec fresh() {
    if (is_wide_) return cc_.newZmm();
    return cc_.newYmm();
  }
  Pointer pointer(std::size_t place) {
    const Pointer made = cc_.newIntPtr();
    before_loop(
        [&] { cc_.mov(made, x86::qword_ptr(places_, static_cast<int>(place * sizeof(float*)))); });
    return made;
  }
  Vec constant(std::size_t index) {
    const Vec made = fresh();
    before_loop([&] {
      cc_.vbroadcastss(made, x86::dword_ptr(constants_, static_cast<int>(index * sizeof(float))));
    });
    return made;
  }
  Vec literal(std::uint32_t bits) {
    const Vec made = fresh();
    before_loop([&] {
      const x86::Gp general = cc_.newUInt32();
      cc_.mov(general, bits);
      cc_.vmovd(made.xmm(), general);
      cc_.vpbroadcastd(made, made.xmm());
    });
    return made;
  }

  bool reads_memory() const { return !is_masked_; }
  Source memory(const Pointer& from) const { return at(from); }
  void load(const Vec& to, const Pointer& from) {
    if (is_masked_) cc_.k(mask_).z();
    cc_.vmovups(to, at(from));
  }
  void store(const Pointer& to, const Vec& from, bool is_copy) {
    if (is_masked_)
      cc_.k(mask_).vmovups(at(to), from);
    else
      cc_.emit(streams_ && is_copy ? x86::Inst::kIdVmovntps : x86::Inst::kIdVmovups, at(to), from);
  }
  void move(const Vec& to, const Vec& a) { cc_.vmovaps(to, a); }
  void clear(const Vec& to) { cc_.vxorps(to, to, to); }

  /// Arithmetic; `minimum` is b unless a is less, and `maximum` b unless a is greater.
  void calculate(Operation code, const Vec& to, const Vec& a, const Source& b) {
    cc_.emit(code == Operation::add        ? x86::Inst::kIdVaddps
             : code == Operation::subtract ? x86::Inst::kIdVsubps
             : code == Operation::multiply ? x86::Inst::kIdVmulps
             : code == Operation::divide   ? x86::Inst::kIdVdivps
             : code == Operation::minimum  ? x86::Inst::kIdVminps
                                           : x86::Inst::kIdVmaxps,
             to, a, b);
  }
  void square_root(const Vec& to, const Vec& a) { cc_.vsqrtps(to, a); }
  void bits_of_both(const Vec& to, const Vec& a, const Vec& b) { cc_.vandps(to, a, b); }
  void other_bits(const Vec& to, const Vec& a, const Vec& b) { cc_.vxorps(to, a, b); }
  /// All bits of the elements where the comparison holds; none for NaN.
  void compare(Operation code, const Vec& to, const Vec& a, const Source& b) {
    constexpr int kLess = 17, kLessEqual = 18, kGreaterEqual = 29, kGreater = 30, kEqual = 0;
    cc_.emit(x86::Inst::kIdVcmpps, to, a, b,
             asmjit::Imm(code == Operation::less            ? kLess
                         : code == Operation::less_equal    ? kLessEqual
                         : code == Operation::greater       ? kGreater
                         : code == Operation::greater_equal ? kGreaterEqual
                                                            : kEqual));
  }
  /// a ≠ b ? yes : no; also of NaN, which equals nothing.
  void choose(const Vec& to, const Vec& a, const Vec& b, const Vec& yes, const Vec& no) {
    compare(Operation::equal, to, a, b);
    cc_.vblendvps(to, yes, no, to);
  }

  /// Four sums in double, which the function is given before the loop and gives back after it.
  Vec lanes(int index) {
    const Vec made = fresh();
    before_loop([&] { cc_.vmovupd(made, lanes_at(index)); });
    return made;
  }
  void store_lanes(int index, const Vec& from) { cc_.vmovupd(lanes_at(index), from); }
  std::array<Vec, 2> in_double(const Vec& value) {
    const std::array<Vec, 2> halves{fresh(), fresh()};
    cc_.vcvtps2pd(halves[0], value.xmm());
    cc_.vextractf128(halves[1].xmm(), value, 1);
    cc_.vcvtps2pd(halves[1], halves[1].xmm());
    return halves;
  }
  /// Adds or multiplies.
  void calculate_lanes(Operation code, const Vec& to, const Vec& a, const Vec& b) {
    cc_.emit(code == Operation::add ? x86::Inst::kIdVaddpd : x86::Inst::kIdVmulpd, to, a, b);
  }

 private:
  template <class Body>
  void write_loop(const x86::Gp& end, const Body& body) {
    const auto loop = cc_.newLabel();
    cc_.bind(loop);
    body();
    cc_.add(index_, is_wide_ ? 64 : 32);
    cc_.cmp(index_, end);
    cc_.jb(loop);
  }
  template <class Body>
  void write_wide_loop(const Body& body) {
    const x86::Gp whole = cc_.newIntPtr(), rest = cc_.newIntPtr(), ones = cc_.newIntPtr();
    const auto tail = cc_.newLabel(), end = cc_.newLabel();
    cc_.mov(whole, bytes_);
    cc_.and_(whole, -64);
    cc_.jz(tail);
    write_loop(whole, body);
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
    body();
    cc_.bind(end);
  }
  x86::Mem at(const Pointer& pointer) const {
    return is_wide_ ? x86::zmmword_ptr(pointer, index_) : x86::ymmword_ptr(pointer, index_);
  }
  x86::Mem lanes_at(int index) const { return x86::ymmword_ptr(lanes_, index * 32); }

  const bool is_wide_, streams_;
  x86::KReg mask_;  // of the elements that are left
  bool is_masked_ = false;
};

}  // namespace acid
