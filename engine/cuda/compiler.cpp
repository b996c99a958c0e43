#include "engine/cuda/compiler.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nvrtc.h>

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/cuda/device.hpp"
#include "engine/cuda/geometry.hpp"

namespace acid::cuda {
namespace {

static_assert(KernelCompiler::kScratchBytes == kBounceBytes);

void* open_library(std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr)
      return library;
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = library == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

/// The functions of libnvrtc, in the version of the CUDA toolkit.
struct Nvrtc {
  decltype(&::nvrtcVersion) version;
  decltype(&::nvrtcGetNumSupportedArchs) count_architectures;
  decltype(&::nvrtcGetSupportedArchs) architectures;
  decltype(&::nvrtcCreateProgram) create;
  decltype(&::nvrtcCompileProgram) compile;
  decltype(&::nvrtcGetPTXSize) ptx_size;
  decltype(&::nvrtcGetPTX) ptx;
  decltype(&::nvrtcGetProgramLogSize) log_size;
  decltype(&::nvrtcGetProgramLog) log;
  decltype(&::nvrtcDestroyProgram) destroy;
  decltype(&::nvrtcGetErrorString) error;
  bool found = false;

  Nvrtc() {
    const std::string name = fmt::format("libnvrtc.so.{}", CUDA_VERSION / 1000);
    void* const library = open_library({name, ACID_CUDA_LIBRARIES "/" + name});
    found = find(library, "nvrtcVersion", version) &&
            find(library, "nvrtcGetNumSupportedArchs", count_architectures) &&
            find(library, "nvrtcGetSupportedArchs", architectures) &&
            find(library, "nvrtcCreateProgram", create) &&
            find(library, "nvrtcCompileProgram", compile) &&
            find(library, "nvrtcGetPTXSize", ptx_size) && find(library, "nvrtcGetPTX", ptx) &&
            find(library, "nvrtcGetProgramLogSize", log_size) &&
            find(library, "nvrtcGetProgramLog", log) &&
            find(library, "nvrtcDestroyProgram", destroy) &&
            find(library, "nvrtcGetErrorString", error);
  }
};

const Nvrtc& nvrtc() {
  static const Nvrtc library;
  return library;
}

void check_nvrtc(nvrtcResult status, const std::string& log = "") {
  if (status == NVRTC_SUCCESS) return;
  throw Error(fmt::format("NVRTC cannot compile a method's kernels: {}{}{}", nvrtc().error(status),
                          log.empty() ? "" : "\n", log));
}

/// The driver's functions that load and launch a compiled program.
struct Driver {
  decltype(&::cuModuleLoadData) load;
  decltype(&::cuModuleGetFunction) function;
  decltype(&::cuLaunchKernel) launch;
  decltype(&::cuGetErrorString) error;
  bool found = false;

  Driver() {
    void* const library = open_library({"libcuda.so.1"});
    found = find(library, "cuModuleLoadData", load) &&
            find(library, "cuModuleGetFunction", function) &&
            find(library, "cuLaunchKernel", launch) && find(library, "cuGetErrorString", error);
  }
};

const Driver& driver() {
  static const Driver library;
  return library;
}

void check_driver(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS) return;
  const char* text = nullptr;
  driver().error(status, &text);
  throw Error(fmt::format("CUDA cannot {}: {}", what, text == nullptr ? "unknown error" : text));
}

int capability() {
  int major = 0, minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, chosen_device()),
        "describe the device");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, chosen_device()),
        "describe the device");
  return major * 10 + minor;
}

class Compiler final : public KernelCompiler {
 public:
  std::string_view obstacle() const override {
    if (!nvrtc().found) return "libnvrtc, NVIDIA's runtime compiler, was not found";
    return driver().found ? "" : "no NVIDIA driver is installed";
  }

  std::vector<Kernel> compile(const std::string& program, std::size_t kernels) const override {
    use_device();
    const std::string assembly = ptx(program, capability());
    CUmodule loaded = nullptr;  // loaded until the process ends
    check_driver(driver().load(&loaded, assembly.c_str()), "load a method's kernels");
    std::vector<Kernel> found;
    for (std::size_t k = 0; k < kernels; ++k) {
      CUfunction function = nullptr;
      check_driver(driver().function(&function, loaded, fmt::format("acid_kernel_{}", k).c_str()),
                   "find a method's kernels");
      found.push_back(function);
    }
    return found;
  }

  void launch(Kernel kernel, std::size_t threads, const void* arguments) const override {
    use_device();
    void* parameters[] = {const_cast<void*>(arguments)};
    auto* const function = static_cast<CUfunction>(const_cast<void*>(kernel));
    check_driver(
        driver().launch(function, blocks({threads, 0, 0}, multiprocessors()), 1, 1,
                        kThreadsPerBlock, 1, 1, 0, CU_STREAM_PER_THREAD, parameters, nullptr),
        "run a method's kernel");
  }
  void wait() const override { wait_for_stream("run a method's kernel"); }
  bool reaches(const void* address) const override { return !is_plain_host_memory(address); }
  void* scratch() const override { return bounce_buffer(); }
};

}  // namespace

const KernelCompiler& kernel_compiler() {
  static const Compiler compiler;
  return compiler;
}

std::string nvrtc_version() {
  int major = 0, minor = 0;
  if (!nvrtc().found || nvrtc().version(&major, &minor) != NVRTC_SUCCESS) return "";
  return fmt::format("{}.{}", major, minor);
}

std::string ptx(const std::string& program, int capability) {
  const Nvrtc& library = nvrtc();
  if (!library.found) throw Error("libnvrtc, NVIDIA's runtime compiler, was not found");
  int count = 0;
  check_nvrtc(library.count_architectures(&count));
  std::vector<int> known(static_cast<std::size_t>(count));
  check_nvrtc(library.architectures(known.data()));
  int target = known.front();  // `known` is in order
  for (const int one : known)
    if (one <= capability) target = one;
  nvrtcProgram made = nullptr;
  check_nvrtc(library.create(&made, program.c_str(), "method.cu", 0, nullptr, nullptr));
  const std::string architecture = fmt::format("--gpu-architecture=compute_{}", target);
  // The options round as the host does.
  const char* const options[] = {architecture.c_str(), "--fmad=false", "--prec-div=true",
                                 "--prec-sqrt=true", "--ftz=false"};
  const nvrtcResult status = library.compile(made, std::size(options), options);
  std::size_t size = 0;
  std::string text;
  if (status == NVRTC_SUCCESS) {
    library.ptx_size(made, &size);
    text.resize(size);
    library.ptx(made, text.data());
  } else {
    library.log_size(made, &size);
    text.resize(size);
    library.log(made, text.data());
  }
  library.destroy(&made);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  check_nvrtc(status, text);
  return text;
}

}  // namespace acid::cuda
