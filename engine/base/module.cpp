#include "engine/base/module.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "engine/base/error.hpp"

namespace acid {

std::string program_folder() {
  std::error_code unreadable;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (unreadable)
    throw Error(fmt::format("cannot read /proc/self/exe: {}; mount /proc", unreadable.message()));
  return self.parent_path().string();
}

std::string module_path(const Module& module) {
  const char* named = std::getenv(module.variable);
  return named != nullptr && *named != '\0' ? named : program_folder() + "/" + module.name;
}

std::string remedy(const Module& module) {
  std::string text = "build the target acid_programs (./quickstart does)";
  if (*module.needs != '\0') text += fmt::format(", which has it where there is {}", module.needs);
  return text;
}

void* load_module(const Module& module) {
  const std::string path = module_path(module);
  // Never closed: LibTorch and MPI cannot be unloaded, and their threads outlive the caller.
  void* handle = dlopen(path.c_str(), RTLD_NOW | (module.global ? RTLD_GLOBAL : RTLD_LOCAL));
  void* factory = handle == nullptr ? nullptr : dlsym(handle, module.factory);
  if (factory != nullptr) return factory;
  const char* told = dlerror();
  std::string_view reason = told == nullptr ? "unknown reason" : told;
  if (const std::string prefix = path + ": "; reason.starts_with(prefix))
    reason.remove_prefix(prefix.size());
  throw Error(fmt::format("cannot load the module '{}': {}; {}: {}, or name the module in {}", path,
                          reason, module.users, remedy(module), module.variable));
}

}  // namespace acid
