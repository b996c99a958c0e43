#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/language/compiled_pass.hpp"
#include "engine/language/device_text.hpp"
#include "engine/worker/kernel_compiler.hpp"

namespace acid {

/// A pass over floats as a compiled kernel of a backend. Immutable; any thread.
class DevicePass final : public CompiledPass {
 public:
  /// The backend must be able to compile. Throws Error.
  DevicePass(const Backend& backend, const Pass& pass, std::size_t workers);
  /// Compiles the kernels of these passes in one call, so that making the passes needs no further
  /// calls.
  static void prepare(const Backend& backend, std::span<const Pass> passes, std::size_t workers);

  void run(const PassMemory<float>& memory, std::span<const double> numbers,
           std::span<const DecayRange> decay, std::size_t first, std::size_t last,
           std::span<std::vector<double>> sums) const override;

 private:
  void run_range(const PassMemory<float>& memory, std::span<const double> numbers, double decay,
                 std::size_t first, std::size_t last, std::span<std::vector<double>> sums) const;
  void launch(const PassMemory<float>& memory, std::span<const double> numbers, double decay,
              std::size_t first, std::size_t size) const;

  const Backend& backend_;
  const KernelCompiler& compiler_;
  const Pass pass_;
  const DeviceText text_;
  const KernelCompiler::Kernel kernel_;
};

}  // namespace acid
