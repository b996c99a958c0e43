#include "tests/language/hosted_kernels.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"

namespace acid::test {
namespace {

// The names that a kernel uses on a device, with few threads that take turns.
constexpr const char* kDevice = R"(
extern "C" float sqrtf(float);
extern "C" float fabsf(float);
#define __global__
struct Three { unsigned x; };
static Three threadIdx, blockIdx, blockDim = {5}, gridDim = {3};
template <class Arguments>
static void run(void (*kernel)(Arguments), const void* arguments) {
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
      kernel(*static_cast<const Arguments*>(arguments));
}
)";

// C's functions are the same in all namespaces, so they are declared outside.
std::string in_a_namespace(std::string program) {
  const std::string_view named = "extern \"C\" __global__", plain = "__global__";
  for (std::size_t at = 0; (at = program.find(named, at)) != std::string::npos;)
    program.replace(at, named.size(), plain);
  return program;
}

/// The processor's memory and kernels.
class HostedBackend final : public Backend {
 public:
  std::string_view name() const override { return "hosted"; }
  void* allocate(std::size_t bytes) const override { return cpu_backend().allocate(bytes); }
  void release(void* memory, std::size_t bytes) const noexcept override {
    cpu_backend().release(memory, bytes);
  }
  bool is_host_memory() const override { return false; }
  const KernelCompiler* compiler() const override { return &hosted_kernels(); }

 protected:
  const kernels::Table<float>& floats() const override { return cpu_backend().kernels<float>(); }
  const kernels::Table<double>& doubles() const override { return cpu_backend().kernels<double>(); }
};

}  // namespace

const HostedKernels& hosted_kernels() {
  static const HostedKernels kernels;
  return kernels;
}

const Backend& hosted_backend() {
  static const HostedBackend backend;
  return backend;
}

std::vector<KernelCompiler::Kernel> HostedKernels::compile(const std::string& program,
                                                           std::size_t kernels) const {
  programs_.push_back(program);
  std::vector<Kernel> made;
  for (std::size_t k = 0; k < kernels; ++k) {
    functions_.push_back(std::make_unique<Function>(nullptr));
    names_.push_back(fmt::format("program_{}::acid_kernel_{}", programs_.size() - 1, k));
    made.push_back(functions_.back().get());
  }
  return made;
}

void HostedKernels::launch(Kernel kernel, std::size_t, const void* arguments) const {
  const Function function = *static_cast<const Function*>(kernel);
  if (function == nullptr) return;
  ++launches_;
  function(arguments);
}

void HostedKernels::build() const {
  char folder[] = "/tmp/acid-kernels-XXXXXX";
  REQUIRE(mkdtemp(folder) != nullptr);
  const std::string source = std::string(folder) + "/kernels.cpp",
                    library = std::string(folder) + "/kernels.so";
  std::ofstream file(source);
  file << kDevice;
  for (std::size_t k = 0; k < programs_.size(); ++k)
    file << fmt::format("namespace program_{} {{\n{}}}\n", k, in_a_namespace(programs_[k]));
  for (std::size_t k = 0; k < names_.size(); ++k)
    file << fmt::format(
        "extern \"C\" void hosted_{}(const void* arguments) {{ run({}, arguments); }}\n", k,
        names_[k]);
  file.close();
  const std::string command =
      fmt::format("'{}' -O1 -w -ffp-contract=off -fno-math-errno -shared -fPIC -o '{}' '{}'",
                  ACID_CXX, library, source);
  REQUIRE(std::system(command.c_str()) == 0);
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(handle != nullptr);
  for (std::size_t k = 0; k < functions_.size(); ++k) {
    *functions_[k] = reinterpret_cast<Function>(dlsym(handle, fmt::format("hosted_{}", k).c_str()));
    REQUIRE(*functions_[k] != nullptr);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace acid::test
