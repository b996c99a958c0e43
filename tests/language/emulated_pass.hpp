#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/language/emitter.hpp"

namespace acid {

/// The code of a pass for AArch64, executed in an emulator of that processor. One at a time runs.
class EmulatedPass {
 public:
  /// Null where EmittedPass::emit() gives none.
  static std::unique_ptr<const EmulatedPass> emit(const Pass& pass, std::size_t sources);
  ~EmulatedPass();
  EmulatedPass(const EmulatedPass&) = delete;
  EmulatedPass& operator=(const EmulatedPass&) = delete;

  void run(const PassMemory<float>& memory, std::span<const double> numbers,
           std::span<const DecayRange> decay, std::size_t first, std::size_t last,
           std::span<std::vector<double>> sums) const {
    running_ = this;
    pass_->run(memory, numbers, decay, first, last, sums);
  }

 private:
  EmulatedPass() = default;
  static void call(float* const* places, const float* constants, double* lanes, std::size_t bytes);

  static const EmulatedPass* running_;
  std::unique_ptr<EmittedPass> pass_;
  std::vector<std::uint8_t> code_;
  std::size_t reductions_ = 0;
};

}  // namespace acid
