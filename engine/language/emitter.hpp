#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/language/compiled_pass.hpp"
#include "engine/language/program.hpp"

namespace acid {

/// The machine code of a pass, for x86-64 with AVX2: eight elements at a time.
/// docs/PERFORMANCE.md says how fast it is. Its memory is written, then made executable, and never
/// both.
class EmittedPass final : public CompiledPass {
 public:
  /// Null where interpret() has to do: the system makes no memory executable, this build emits
  /// nothing, or the pass has too many vectors or numbers, or a reduction beside decay.
  ///
  /// `sources`: of what is heard, of which the own one has no excess; the code takes means as it
  /// goes then. 0: of any number; means are taken before, block by block.
  static std::unique_ptr<const EmittedPass> emit(const Pass& pass, std::size_t sources,
                                                 bool streams = false);
  template <class T>
  static std::size_t sources_of(const Heard<T>& heard) {
    const std::size_t count = heard.sources.size();
    const bool exceeds = count > 0 && heard.sources[0].weight != 0;
    return heard.mean != nullptr || exceeds || count > kMostSources ? 0 : count;
  }
  /// Whether a message is written past the caches, which takes its place in memory for that.
  static bool streams(const void* said, std::size_t dimension) {
    return dimension * sizeof(float) >= kStreamedBytes && dimension % 8 == 0 &&
           reinterpret_cast<std::uintptr_t>(said) % 32 == 0;
  }
  ~EmittedPass() override;
  EmittedPass(const EmittedPass&) = delete;
  EmittedPass& operator=(const EmittedPass&) = delete;

  void run(const PassMemory<float>& memory, std::span<const double> numbers,
           std::span<const DecayRange> decay, std::size_t first, std::size_t last,
           std::span<std::vector<double>> sums) const override;

 private:
  friend class Emission;
  class Execution;
  static constexpr std::size_t kMostPlaces = 64, kMostConstants = 64, kMostSources = 8;
  static constexpr std::size_t kMostTaken = 8;
  static constexpr std::size_t kStreamedBytes = 8 << 20;

  /// Executes `bytes` of every vector, a multiple of 32 and not 0. `lanes`: of the reductions,
  /// which are added to.
  using Function = void (*)(float* const* places, const float* constants, double* lanes,
                            std::size_t bytes);
  struct Place {
    Operand operand;
    std::size_t source = 0;  // of what is heard, that the code takes
    bool is_read = false, is_written = false;
  };

  EmittedPass() = default;

  std::vector<Place> places_;             // as the function is given them
  std::size_t sources_ = 0;               // whose weights are the first constants
  std::vector<std::uint16_t> constants_;  // numbers, which come then
  bool has_decay_ = false, streams_ = false;
  void* memory_ = nullptr;  // the function; owned
  std::size_t bytes_ = 0;   // of it
};

}  // namespace acid
