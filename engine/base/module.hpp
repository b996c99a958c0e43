#pragma once

#include <string>

namespace acid {

/// The folder of the running executable. Throws Error when the system does not tell.
std::string program_folder();

/// A shared object that only some runs or commands need, because it is slow to load or missing on
/// some machines. It is in program_folder(), unless an environment variable names another file.
struct Module {
  const char* name;        // "acid-torch.so"
  const char* variable;    // "ACID_TORCH_MODULE"
  const char* factory;     // the function it exports
  const char* users;       // "models need it"
  const char* needs = "";  // what must be installed to build it, besides acid's needs
  bool global = false;     // modules that it loads find its symbols
};

/// Where `module` is expected.
std::string module_path(const Module& module);

/// How to get `module`: which target to build, and what has to be installed for it.
std::string remedy(const Module& module);

/// Loads the module for the rest of the process and returns its factory. Any thread. Throws Error
/// with the path, the reason, its users and the remedy.
void* load_module(const Module& module);

template <class Factory>
Factory* load_module(const Module& module) {
  return reinterpret_cast<Factory*>(load_module(module));
}

}  // namespace acid
