#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/language/compiled_pass.hpp"
#include "engine/language/program.hpp"

namespace acid {

struct MachineCode;  // emission.hpp
template <class Machine>
class Emission;

/// The machine code of a pass: for x86-64 eight elements at a time with AVX2, sixteen with AVX-512;
/// for AArch64 eight. docs/PERFORMANCE.md has its speed. Its memory is first writable, then
/// executable, and never both.
class EmittedPass final : public CompiledPass {
 public:
  /// Null when interpret() must execute the pass: the system makes no memory executable, this build
  /// emits no code, or the pass has too many vectors or numbers, or a reduction beside decay.
  ///
  /// `sources`: the number of heard messages, whose own one has no excess; the code then takes
  /// means as it goes. 0: any number; means are taken before, block by block.
  /// `wide`: with AVX-512, unless the pass compares or reduces.
  static std::unique_ptr<const EmittedPass> emit(const Pass& pass, std::size_t sources,
                                                 bool streams = false, bool wide = false);
  template <class T>
  static std::size_t sources_of(const Heard<T>& heard) {
    const std::size_t count = heard.sources.size();
    const bool exceeds = count > 0 && heard.sources[0].weight != 0;
    return heard.mean != nullptr || exceeds || count > kMostSources ? 0 : count;
  }
  /// Whether a message or the next point is written past the caches: where it is long, and all its
  /// vectors lie alike for the widest registers, which write 64 bytes at a place of 64 bytes.
  static bool streams(const void* copy, std::size_t dimension, std::size_t vectors) {
    return dimension * sizeof(float) >= kStreamedBytes && (dimension % 16 == 0 || vectors == 1) &&
           reinterpret_cast<std::uintptr_t>(copy) % sizeof(float) == 0;
  }
  ~EmittedPass() override;
  EmittedPass(const EmittedPass&) = delete;
  EmittedPass& operator=(const EmittedPass&) = delete;

  void run(const PassMemory<float>& memory, std::span<const double> numbers,
           std::span<const DecayRange> decay, std::size_t first, std::size_t last,
           std::span<std::vector<double>> sums) const override;
  bool run_pair(float* const* i, float* const* j, double drift, double partner_drift,
                std::span<const double> literals, std::size_t size) const override;

 private:
  template <class Machine>
  friend class Emission;
  friend class EmulatedPass;  // of tests: code for another processor
  class Execution;
  static constexpr std::size_t kMostPlaces = 64, kMostConstants = 64, kMostSources = 8;
  static constexpr std::size_t kMostTaken = 8;
  static constexpr std::size_t kStreamedBytes = 8 << 20;

  /// Executes the pass on `bytes` of every vector, not 0 and, unless it is wide, a multiple of 32.
  /// Adds to `lanes`, the lanes of the reductions.
  using Function = void (*)(float* const* places, const float* constants, double* lanes,
                            std::size_t bytes);
  struct Place {
    Operand operand;
    std::size_t source = 0;  // of the heard message that the code takes
    bool is_read = false, is_written = false;
    bool is_copy() const {  // which may be written past the caches
      return operand.kind == Operand::Kind::said || operand.kind == Operand::Kind::point;
    }
  };

  EmittedPass() = default;
  /// The pass without its memory, and its code in the holder; null as for emit().
  template <class Machine>
  static std::unique_ptr<EmittedPass> write(const Pass& pass, std::size_t sources, bool streams,
                                            bool wide, MachineCode& code);
  /// Makes the code in the holder the pass's function; false when the system forbids it.
  bool make_executable(MachineCode& code);
  int width() const { return is_wide_ ? 16 : 8; }
  void run_whole(const PassMemory<float>& memory, std::span<const double> numbers, double decay,
                 std::size_t first, std::size_t size) const;

  std::vector<Place> places_;             // in the order of the function's argument
  std::size_t sources_ = 0;               // their weights are the first constants
  std::vector<std::uint16_t> constants_;  // numbers, which follow the weights
  bool has_decay_ = false, streams_ = false, is_wide_ = false;
  bool is_plain_ = false;   // each element depends on the vectors there and nothing else
  void* memory_ = nullptr;  // the function; owned
  std::size_t bytes_ = 0;   // of the function
};

}  // namespace acid
