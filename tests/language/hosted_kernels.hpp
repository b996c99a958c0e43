#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/worker/backend.hpp"

namespace acid::test {

/// Device kernels compiled by the host's compiler, since the program is the same. Compiling only
/// notes a program, and its kernels do nothing, until build() compiles all programs at once.
class HostedKernels final : public KernelCompiler {
 public:
  std::string_view obstacle() const override { return ""; }
  std::vector<Kernel> compile(const std::string& program, std::size_t kernels) const override;
  void launch(Kernel kernel, std::size_t threads, const void* arguments) const override;
  void wait() const override {}
  bool reaches(const void*) const override { return reaches_all; }
  void* scratch() const override { return scratch_.data(); }
  mutable bool reaches_all = false;  // for tests of models that are read without the scratch memory

  void build() const;
  const std::vector<std::string>& programs() const { return programs_; }
  std::size_t kernels() const { return functions_.size(); }
  std::size_t launches() const { return launches_; }

 private:
  using Function = void (*)(const void* arguments);
  mutable std::vector<std::string> programs_;
  mutable std::vector<std::string> names_;                    // names of the kernels, in order
  mutable std::vector<std::unique_ptr<Function>> functions_;  // the kernels; null until built
  mutable std::vector<double> scratch_ = std::vector<double>(kScratchBytes / sizeof(double));
  mutable std::size_t launches_ = 0;  // launches of built kernels
};

/// Host memory that claims not to be host memory, and the processor's kernels, with HostedKernels.
/// There is one, for one thread.
const Backend& hosted_backend();
const HostedKernels& hosted_kernels();

}  // namespace acid::test
