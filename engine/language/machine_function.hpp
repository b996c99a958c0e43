#pragma once

#include <asmjit/core.h>

#include <cstddef>
#include <iterator>

namespace acid {

/// The function around the loop that Emission writes, EmittedPass::Function, for any processor.
template <class Compiler, class Gp>
class MachineFunction {
 protected:
  explicit MachineFunction(asmjit::CodeHolder& code) : cc_(&code) {}

  asmjit::FuncNode* begin() {
    auto* const function =
        cc_.addFunc(asmjit::FuncSignatureT<void, const void*, const void*, void*, std::size_t>());
    Gp* const arguments[] = {&places_, &constants_, &lanes_, &bytes_};
    for (std::uint32_t k = 0; k < std::size(arguments); ++k) {
      *arguments[k] = cc_.newIntPtr();
      function->setArg(k, *arguments[k]);
    }
    index_ = cc_.newIntPtr();
    return function;
  }
  /// From here on before_loop() adds its code here.
  void begin_loop() { before_ = cc_.cursor(); }
  template <class Function>
  void before_loop(const Function& emit) {
    auto* const here = cc_.setCursor(before_);
    emit();
    before_ = cc_.setCursor(here);
  }
  bool finish() {
    cc_.endFunc();
    return cc_.finalize() == asmjit::kErrorOk;
  }

  Compiler cc_;
  Gp places_, constants_, lanes_, bytes_;  // the arguments
  Gp index_;                               // in bytes, of the elements that the loop is at

 private:
  asmjit::BaseNode* before_ = nullptr;
};

}  // namespace acid
