#include "engine/models/blas_core.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

namespace acid {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";
constexpr const char* kLibrary = "libblas.so.3";  // which Debian's LibTorch is linked with

Vectors vectors_here() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return Vectors::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return Vectors::avx2;
#endif
  return Vectors::other;
}

// What OpenBLAS would choose if it were loaded now; empty: it is loaded already, or is not there.
std::string core_of_library() {
  if (dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD) != nullptr) return {};
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return {};
  const auto core_name = reinterpret_cast<char* (*)()>(dlsym(library, "openblas_get_corename"));
  const std::string core = core_name == nullptr ? "" : core_name();
  dlclose(library);
  return core;
}

}  // namespace

Vectors vectors_of_core(std::string core) {
  std::ranges::transform(core, core.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array<std::string_view, 3> kAvx512{"skylakex", "cooperlake", "sapphirerapids"};
  constexpr std::array<std::string_view, 3> kAvx2{"haswell", "zen", "excavator"};
  if (std::ranges::find(kAvx512, core) != kAvx512.end()) return Vectors::avx512;
  return std::ranges::find(kAvx2, core) != kAvx2.end() ? Vectors::avx2 : Vectors::other;
}

void prefer_blas_core(const std::string& core) {
  if (!core.empty() && vectors_of_core(core) <= vectors_here())
    setenv(kVariable, core.c_str(), /*overwrite=*/0);
}

void choose_blas_core() {
  const Vectors possible = vectors_here();
  if (std::getenv(kVariable) != nullptr || possible == Vectors::other) return;
  const std::string core = core_of_library();
  if (core.empty() || vectors_of_core(core) != Vectors::other) return;
  setenv(kVariable, possible == Vectors::avx512 ? "SkylakeX" : "Haswell", /*overwrite=*/0);
}

}  // namespace acid
