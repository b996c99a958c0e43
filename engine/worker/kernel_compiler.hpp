#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Compiles kernels from source text, for a backend whose memory the host reaches slowly or not at
/// all. Immutable; any thread. Outlives all kernels.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  using Kernel = const void*;

  /// Why it cannot compile; empty: it can.
  virtual std::string_view obstacle() const = 0;
  /// The functions acid_kernel_0, acid_kernel_1 and so on of a program in CUDA C++; they live as
  /// long as the process. Every operation is rounded as on the host. Throws Error.
  virtual std::vector<Kernel> compile(const std::string& program, std::size_t kernels) const = 0;
  /// Starts a kernel on about `threads` threads, which share all work. Its one argument is a struct
  /// at `arguments`, copied before the call returns. Kernels of one calling thread run in order.
  virtual void launch(Kernel kernel, std::size_t threads, const void* arguments) const = 0;
  /// Waits for all kernels that the calling thread has launched.
  virtual void wait() const = 0;
  /// Whether kernels reach this address.
  virtual bool reaches(const void* address) const = 0;
  /// The calling thread's scratch memory, kScratchBytes, which the host and kernels reach.
  virtual void* scratch() const = 0;
  static constexpr std::size_t kScratchBytes = std::size_t{1} << 20;
};

}  // namespace acid
