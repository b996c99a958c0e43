#include "engine/language/emitter.hpp"

#if defined(ACID_WITH_ASMJIT)
#include <sys/mman.h>

#include "engine/language/emission.hpp"
#if defined(__aarch64__)
#include "engine/language/a64_machine.hpp"
#else
#include "engine/language/x86_machine.hpp"
#endif
#endif

namespace acid {

#if defined(ACID_WITH_ASMJIT)

namespace {
#if defined(__aarch64__)
using HostMachine = A64Machine;
#else
using HostMachine = X86Machine;
#endif
}  // namespace

bool EmittedPass::make_executable(MachineCode& code) {
  bytes_ = code.holder.codeSize();
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = memory;
  const bool written =
      code.holder.relocateToBase(reinterpret_cast<std::uint64_t>(memory)) == asmjit::kErrorOk &&
      code.holder.copyFlattenedData(memory, bytes_) == asmjit::kErrorOk;
  auto* const begin = static_cast<char*>(memory);
  __builtin___clear_cache(begin, begin + bytes_);
  return written && mprotect(memory, bytes_, PROT_READ | PROT_EXEC) == 0;
}

std::unique_ptr<const EmittedPass> EmittedPass::emit(const Pass& pass, std::size_t sources,
                                                     bool streams, bool wide) {
  MachineCode code;
  if (code.holder.init(asmjit::Environment::host()) != asmjit::kErrorOk) return nullptr;
  auto made = write<HostMachine>(pass, sources, streams, wide, code);
  if (made != nullptr && made->make_executable(code)) return made;
  return sources > 0 ? emit(pass, 0, streams, wide) : nullptr;
}

#else

std::unique_ptr<const EmittedPass> EmittedPass::emit(const Pass&, std::size_t, bool, bool) {
  return nullptr;
}
#endif

}  // namespace acid
