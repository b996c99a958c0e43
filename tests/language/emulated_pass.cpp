#include "tests/language/emulated_pass.hpp"

#include <unicorn/unicorn.h>

#include <map>
#include <set>
#include <stdexcept>

#include "engine/language/a64_machine.hpp"
#include "engine/language/emission.hpp"
#include "tests/language/random_pass.hpp"

namespace acid {
namespace {

void require(uc_err code) {
  if (code != UC_ERR_OK) throw std::runtime_error(uc_strerror(code));
}

/// A processor with its memory.
class Emulator {
 public:
  Emulator() {
    require(uc_open(UC_ARCH_ARM64, UC_MODE_ARM, &engine_));
    require(uc_mem_map(engine_, kCode, kCodeBytes, UC_PROT_READ | UC_PROT_EXEC));
    require(uc_mem_map(engine_, kData, kDataBytes, UC_PROT_READ | UC_PROT_WRITE));
  }
  ~Emulator() { uc_close(engine_); }
  Emulator(const Emulator&) = delete;
  Emulator& operator=(const Emulator&) = delete;

  /// A copy of the host's memory; the same one for the same place.
  std::uint64_t put(const void* place, std::size_t bytes) {
    const auto found = copies_.find(place);
    if (found != copies_.end() && found->second.bytes >= bytes) return found->second.at;
    const std::uint64_t at = next_;
    next_ += (bytes + 63) / 64 * 64;
    if (next_ > kData + kDataBytes - kStackBytes) throw std::runtime_error("too much data");
    if (bytes > 0) require(uc_mem_write(engine_, at, place, bytes));
    copies_[place] = {at, bytes};
    return at;
  }
  void call(const std::vector<std::uint8_t>& code, const std::vector<std::uint64_t>& arguments) {
    require(uc_ctl_remove_cache(engine_, kCode, kCode + kCodeBytes));
    require(uc_mem_write(engine_, kCode, code.data(), code.size()));
    constexpr int kRegisters[] = {UC_ARM64_REG_X0, UC_ARM64_REG_X1, UC_ARM64_REG_X2,
                                  UC_ARM64_REG_X3};
    for (std::size_t k = 0; k < arguments.size(); ++k) set(kRegisters[k], arguments[k]);
    set(UC_ARM64_REG_SP, kData + kDataBytes);
    const std::uint64_t end = kCode + kCodeBytes - 4;  // which the function returns to
    set(UC_ARM64_REG_LR, end);
    require(uc_emu_start(engine_, kCode, end, 0, 0));
  }
  /// Reads these places of the host back from their copies, and forgets all copies.
  void take_back(const std::set<void*>& places) {
    for (void* const place : places)
      if (const Copy& copy = copies_.at(place); copy.bytes > 0)
        require(uc_mem_read(engine_, copy.at, place, copy.bytes));
    copies_.clear();
    next_ = kData;
  }

 private:
  static constexpr std::uint64_t kCode = 0x10000, kCodeBytes = 1 << 20;
  static constexpr std::uint64_t kData = 0x1000000, kDataBytes = 64 << 20, kStackBytes = 1 << 20;
  struct Copy {
    std::uint64_t at = 0;
    std::size_t bytes = 0;
  };
  void set(int which, std::uint64_t value) { require(uc_reg_write(engine_, which, &value)); }

  uc_engine* engine_ = nullptr;
  std::map<const void*, Copy> copies_;
  std::uint64_t next_ = kData;
};

}  // namespace

const EmulatedPass* EmulatedPass::running_ = nullptr;

std::unique_ptr<const EmulatedPass> EmulatedPass::emit(const Pass& pass, std::size_t sources) {
  MachineCode code;
  std::unique_ptr<EmulatedPass> made(new EmulatedPass);
  if (code.holder.init(asmjit::Environment(asmjit::Arch::kAArch64)) != asmjit::kErrorOk)
    return nullptr;
  made->pass_ = EmittedPass::write<A64Machine>(pass, sources, false, false, code);
  if (made->pass_ == nullptr) return sources > 0 ? emit(pass, 0) : nullptr;
  made->code_.resize(code.holder.codeSize());
  if (code.holder.copyFlattenedData(made->code_.data(), made->code_.size()) != asmjit::kErrorOk)
    return nullptr;
  made->reductions_ = test::reductions_of(pass);
  made->pass_->memory_ = reinterpret_cast<void*>(&EmulatedPass::call);
  return made;
}

EmulatedPass::~EmulatedPass() {
  if (pass_ != nullptr) pass_->memory_ = nullptr;  // it is no memory of its own
}

void EmulatedPass::call(float* const* places, const float* constants, double* lanes,
                        std::size_t bytes) {
  static Emulator emulator;
  const EmittedPass& pass = *running_->pass_;
  std::set<void*> written{lanes};
  std::vector<std::uint64_t> addresses;
  for (std::size_t k = 0; k < pass.places_.size(); ++k) {
    addresses.push_back(emulator.put(places[k], bytes));
    if (pass.places_[k].is_written) written.insert(places[k]);
  }
  emulator.call(
      running_->code_,
      {emulator.put(addresses.data(), addresses.size() * sizeof(std::uint64_t)),
       emulator.put(constants, (pass.sources_ + pass.constants_.size()) * sizeof(float)),
       emulator.put(lanes, running_->reductions_ * kReductionLanes * sizeof(double)), bytes});
  emulator.take_back(written);
}

}  // namespace acid
