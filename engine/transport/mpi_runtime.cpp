#include "engine/transport/mpi_runtime.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace acid {
namespace {

std::string module_path() {
  if (const char* path = std::getenv("ACID_MPI_MODULE"); path != nullptr && *path != '\0')
    return path;
  std::error_code unreadable;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", unreadable);
  if (unreadable) throw Error("cannot read /proc/self/exe; name the module in ACID_MPI_MODULE");
  return self.parent_path() / "acid-mpi.so";
}

[[noreturn]] void cannot_load(const std::string& path) {
  const char* reason = dlerror();
  throw Error(fmt::format(
      "cannot load the MPI module '{}': {}; the mpi driver needs it on every host: install MPI (on "
      "Debian: apt install openmpi-bin libopenmpi-dev) and build acid with -DACID_WITH_MPI=ON, or "
      "name the module in ACID_MPI_MODULE",
      path, reason == nullptr ? "unknown reason" : reason));
}

MpiRuntime& load(const std::string& path) {
  // Global: Open MPI loads plugins that look for its symbols. Never closed: MPI cannot be unloaded.
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) cannot_load(path);
  auto* factory = reinterpret_cast<MpiRuntime* (*)()>(dlsym(module, "acid_mpi_runtime"));
  if (factory == nullptr) cannot_load(path);
  return *factory();
}

}  // namespace

MpiRuntime& start_mpi() {
  static MpiRuntime& runtime = load(module_path());
  return runtime;
}

}  // namespace acid
