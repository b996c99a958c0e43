#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Makes kernels out of text, for the memory of a backend that the host's code is slow in or does
/// not reach. Immutable, used by any number of threads, and outlives all kernels.
class KernelCompiler {
 public:
  virtual ~KernelCompiler() = default;
  using Kernel = const void*;

  /// Why it makes none; empty where it does.
  virtual std::string_view obstacle() const = 0;
  /// Kernels acid_kernel_0, … of a program in CUDA C++, for as long as the process lives. Every
  /// operation is rounded as the host rounds it. Throws Error.
  virtual std::vector<Kernel> compile(const std::string& program, std::size_t kernels) const = 0;
  /// Has a kernel begun whose one argument is a struct that lies at `arguments`, copied before the
  /// call returns; with about so many threads, each of which takes turns until all is done. One
  /// after the other, in the calling thread's order.
  virtual void launch(Kernel kernel, std::size_t threads, const void* arguments) const = 0;
  /// Until what the calling thread has launched is done.
  virtual void wait() const = 0;
  /// kScratchBytes of the calling thread's that the host and kernels reach.
  virtual void* scratch() const = 0;
  static constexpr std::size_t kScratchBytes = std::size_t{1} << 20;
};

}  // namespace acid
