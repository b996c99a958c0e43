#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "engine/base/error.hpp"
#include "engine/worker/backend.hpp"
#include "engine/worker/cpu_kernels.hpp"

namespace acid {
namespace {

// Larger blocks are mapped from the system: zeroed, and backed by memory only once touched.
constexpr std::size_t kMappedBytes = 1 << 20;
// Larger blocks use huge pages if the system has them: exchanges among 100,000 workers of 64
// parameters take 0.85 of the time, among 1,000,000 0.68, and the first touch half.
constexpr std::size_t kHugeBytes = 4 << 20;

class CpuBackend : public Backend {
 public:
  CpuBackend(std::string_view name, const kernels::Table<float>& floats,
             const kernels::Table<double>& doubles)
      : name_(name), floats_(floats), doubles_(doubles) {}

  std::string_view name() const override { return name_; }

  void* allocate(std::size_t bytes) const override {
    if (bytes < kMappedBytes) {
      void* const memory = ::operator new (bytes, std::align_val_t{kAlignment});
      return std::memset(memory, 0, bytes);
    }
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    if (bytes >= kHugeBytes) madvise(memory, bytes, MADV_HUGEPAGE);  // may be refused
    return memory;
  }
  void release(void* memory, std::size_t bytes) const noexcept override {
    if (bytes < kMappedBytes)
      ::operator delete (memory, std::align_val_t{kAlignment});
    else
      munmap(memory, bytes);
  }

 protected:
  const kernels::Table<float>& floats() const override { return floats_; }
  const kernels::Table<double>& doubles() const override { return doubles_; }

 private:
  const std::string_view name_;
  const kernels::Table<float>& floats_;
  const kernels::Table<double>& doubles_;
};

const Backend& chosen_backend() {
  if (const char* const wanted = std::getenv("ACID_KERNELS"); wanted != nullptr) {
    if (const Backend* const backend = cpu_backend(wanted)) return *backend;
    throw UsageError(
        "the environment variable ACID_KERNELS is '" + std::string(wanted) +
        "', which this processor or build has no kernels for; unset it, or choose one of "
        "baseline, avx2 and avx512");
  }
  for (const char* const set : {"avx512", "avx2"})
    if (const Backend* const backend = cpu_backend(set)) return *backend;
  return *cpu_backend("baseline");
}

}  // namespace

const Backend* cpu_backend(std::string_view instruction_set) {
  static const CpuBackend baseline("cpu/baseline", kernels::baseline::floats,
                                   kernels::baseline::doubles);
  if (instruction_set == "baseline") return &baseline;
#if defined(__x86_64__)
  static const CpuBackend avx2("cpu/avx2", kernels::avx2::floats, kernels::avx2::doubles);
  static const CpuBackend avx512("cpu/avx512", kernels::avx512::floats, kernels::avx512::doubles);
  if (instruction_set == "avx2" && __builtin_cpu_supports("avx2")) return &avx2;
  if (instruction_set == "avx512" && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512bw"))
    return &avx512;
#endif
  return nullptr;
}

const Backend& cpu_backend() {
  static const Backend& backend = chosen_backend();
  return backend;
}

}  // namespace acid
