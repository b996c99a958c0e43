#include "engine/language/emitter.hpp"

#include <algorithm>

#include "engine/worker/backend.hpp"

#if defined(ACID_WITH_ASMJIT)
#include <sys/mman.h>

#include "engine/language/emission.hpp"
#endif

namespace acid {

#if defined(ACID_WITH_ASMJIT)

namespace {

// Null when the system forbids executable memory.
void* executable_copy(asmjit::CodeHolder& code, std::size_t bytes) {
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const bool written =
      code.relocateToBase(reinterpret_cast<std::uint64_t>(memory)) == asmjit::kErrorOk &&
      code.copyFlattenedData(memory, bytes) == asmjit::kErrorOk;
  if (written && mprotect(memory, bytes, PROT_READ | PROT_EXEC) == 0) return memory;
  munmap(memory, bytes);
  return nullptr;
}

}  // namespace

std::unique_ptr<const EmittedPass> EmittedPass::emit(const Pass& pass, std::size_t sources,
                                                     bool streams, bool wide) {
  const auto is_narrow = [](const Instruction& one) {  // makes masks, or sums of eight lanes
    const bool compares = one.code >= Operation::less && one.code <= Operation::equal;
    return compares || one.code == Operation::sign || one.code >= Operation::where;
  };
  const bool reduces = std::ranges::any_of(
      pass.instructions, [](const Instruction& one) { return is_reduction(one.code); });
  if (reduces && pass.has_decay) return nullptr;  // its ranges may begin in the middle of the lanes
  std::unique_ptr<EmittedPass> made(new EmittedPass);
  made->has_decay_ = pass.has_decay;
  made->sources_ = sources;
  made->streams_ = streams;
  made->is_wide_ = wide && std::ranges::none_of(pass.instructions, is_narrow);
  asmjit::CodeHolder code;
  if (code.init(asmjit::Environment::host()) != asmjit::kErrorOk ||
      !Emission(pass, *made, code).write())
    return nullptr;
  const auto taken = std::ranges::count_if(
      made->places_, [](const Place& place) { return is_of_all_heard(place.operand); });
  made->is_plain_ = !reduces && !streams && (sources > 0 || taken == 0);
  if (sources == 0 && taken > static_cast<std::ptrdiff_t>(kMostTaken)) return nullptr;
  if (made->places_.size() > kMostPlaces || sources + made->constants_.size() > kMostConstants)
    return sources > 0 ? emit(pass, 0, streams, wide) : nullptr;
  made->bytes_ = code.codeSize();
  made->memory_ = executable_copy(code, made->bytes_);
  if (made->memory_ == nullptr) return nullptr;
  return made;
}

#else

std::unique_ptr<const EmittedPass> EmittedPass::emit(const Pass&, std::size_t, bool, bool) {
  return nullptr;
}
#endif

}  // namespace acid
