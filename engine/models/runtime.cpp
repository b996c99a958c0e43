#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "engine/base/error.hpp"
#include "engine/models/model.hpp"

namespace acid {
namespace {

std::string module_path() {
  if (const char* path = std::getenv("ACID_TORCH_MODULE"); path != nullptr && *path != '\0')
    return path;
  std::error_code unreadable;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (unreadable) throw Error("cannot read /proc/self/exe; name the module in ACID_TORCH_MODULE");
  return self.parent_path() / "acid-torch.so";
}

[[noreturn]] void cannot_load(const std::string& path) {
  const char* reason = dlerror();
  throw Error(fmt::format(
      "cannot load the LibTorch module '{}': {}; models need it (quadratic and logistic tasks do "
      "not): install LibTorch (on Debian: apt install libtorch-dev) and build acid with "
      "-DACID_WITH_TORCH=ON, or name the module in ACID_TORCH_MODULE",
      path, reason == nullptr ? "unknown reason" : reason));
}

ModelRuntime& load(const std::string& path) {
  // Never closed: LibTorch cannot be unloaded.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) cannot_load(path);
  auto* factory = reinterpret_cast<ModelRuntime* (*)()>(dlsym(module, "acid_torch_runtime"));
  if (factory == nullptr) cannot_load(path);
  return *factory();
}

}  // namespace

ModelRuntime& load_model_runtime() {
  static ModelRuntime& runtime = load(module_path());
  return runtime;
}

}  // namespace acid
