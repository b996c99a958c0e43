#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/language/interpreter.hpp"

namespace acid {

/// A pass over floats that is executed faster than by interpret(), with the same bits of numbers
/// (which of two NaNs survives may differ). Immutable; any thread.
class CompiledPass {
 public:
  virtual ~CompiledPass() = default;
  /// Executes the pass as interpret() does with the same arguments.
  virtual void run(const PassMemory<float>& memory, std::span<const double> numbers,
                   std::span<const DecayRange> decay, std::size_t first, std::size_t last,
                   std::span<std::vector<double>> sums) const = 0;
  /// Executes the pass of a meeting whose numbers are literals except the drifts, on all `size`
  /// elements of both workers' vectors, x and its slots. Returns false if it cannot.
  virtual bool run_pair(float* const* /*i*/, float* const* /*j*/, double /*drift*/,
                        double /*partner_drift*/, std::span<const double> /*literals*/,
                        std::size_t /*size*/) const {
    return false;
  }
};

/// Why passes over vectors in this backend's memory are interpreted; empty when machine code is
/// emitted or kernels are compiled for them.
std::string_view why_interpreted(const Backend& backend);

}  // namespace acid
