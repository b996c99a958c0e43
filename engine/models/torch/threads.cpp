#include "engine/models/torch/threads.hpp"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "engine/base/error.hpp"

namespace acid {
namespace {

/// The library whose sgemm_ LibTorch's matrix products call. Asking OpenBLAS for its own name is
/// not enough: OpenBLAS can be loaded and yet not be the library that provides sgemm_.
struct Blas {
  std::string path;  // empty: sgemm_ is inside LibTorch
  void* library = nullptr;
};

Blas find_blas() {
  Blas blas;
  Dl_info info{};
  void* sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  if (sgemm == nullptr || dladdr(sgemm, &info) == 0 || info.dli_fname == nullptr) return blas;
  std::error_code unresolved;  // Debian's libblas.so.3 is a link to the chosen implementation
  blas.path = std::filesystem::canonical(info.dli_fname, unresolved);
  if (unresolved) blas.path = info.dli_fname;
  blas.library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  return blas;
}

const Blas& blas() {
  static const Blas found = find_blas();
  return found;
}

/// A function of the BLAS library or of its dependencies; null when there is none.
template <typename Function>
Function* blas_function(const char* name) {
  if (blas().library == nullptr) return nullptr;
  return reinterpret_cast<Function*>(dlsym(blas().library, name));
}

/// A function of the OpenMP runtime in use, if any; looked up because official LibTorch has its
/// own.
template <typename Function>
Function* openmp_function(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

void require_threads(const char* library, int wanted, int got) {
  if (got == wanted) return;
  throw Error(fmt::format(
      "{} runs with {} threads although {} were asked for, and thread counts are part of a run's "
      "arithmetic; unset OMP_NUM_THREADS, OMP_THREAD_LIMIT, OMP_DYNAMIC and OPENBLAS_NUM_THREADS, "
      "or choose threads_per_worker = {}",
      library, got, wanted, got));
}

/// The line of at::show_config() that says which vector instructions the kernels use: "AVX2".
std::string cpu_capability() {
  const std::string config = at::show_config();
  const std::string key = "CPU capability usage: ";
  const std::size_t start = config.find(key);
  if (start == std::string::npos) return "unknown";
  const std::size_t first = start + key.size();
  return config.substr(first, config.find('\n', first) - first);
}

std::string string_or_empty(char* (*function)()) {
  const char* value = function == nullptr ? nullptr : function();
  return value == nullptr ? "" : value;
}

}  // namespace

void pin_library_threads(int threads) {
  ACID_ASSERT(threads >= 1, "{} threads", threads);
  static std::mutex mutex;  // the counts of OpenBLAS and LibTorch hold for the process
  const std::lock_guard<std::mutex> lock(mutex);

  at::init_num_threads();
  if (at::get_num_threads() != threads) at::set_num_threads(threads);
  require_threads("LibTorch", threads, at::get_num_threads());

  auto* omp_set = openmp_function<void(int)>("omp_set_num_threads");
  auto* omp_get = openmp_function<int()>("omp_get_max_threads");
  if (omp_set != nullptr && omp_get != nullptr) {
    omp_set(threads);
    require_threads("OpenMP", threads, omp_get());
  }

  auto* blas_set = blas_function<void(int)>("openblas_set_num_threads");
  auto* blas_get = blas_function<int()>("openblas_get_num_threads");
  if (blas_set != nullptr && blas_get != nullptr) {
    if (blas_get() != threads) blas_set(threads);
    require_threads("OpenBLAS", threads, blas_get());
  }
}

nlohmann::json library_environment() {
  auto* blas_threads = blas_function<int()>("openblas_get_num_threads");
  return {
      {"libtorch", TORCH_VERSION},
      {"blas_library", blas().path.empty() ? "inside LibTorch" : blas().path},
      {"blas_core", string_or_empty(blas_function<char*()>("openblas_get_corename"))},
      {"blas_config", string_or_empty(blas_function<char*()>("openblas_get_config"))},
      {"blas_threads", blas_threads == nullptr ? at::get_num_threads() : blas_threads()},
      {"cpu_capability", cpu_capability()},
      {"mkldnn", at::get_mkldnn_version()},
      {"cuda", at::hasCUDA()},
      {"deterministic", at::globalContext().deterministicAlgorithms()},
  };
}

}  // namespace acid
