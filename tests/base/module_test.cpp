#include "engine/base/module.hpp"

#include <cstdlib>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

constexpr Module kModule{.name = "acid-nothing.so",
                         .variable = "ACID_NOTHING_MODULE",
                         .factory = "acid_nothing",
                         .users = "no program needs it",
                         .needs = "nothing"};

}  // namespace

TEST_CASE("a module is expected beside the program, or where its variable says") {
  CHECK(module_path(kModule) == program_folder() + "/acid-nothing.so");
  setenv(kModule.variable, "/elsewhere.so", 1);
  CHECK(module_path(kModule) == "/elsewhere.so");
  setenv(kModule.variable, "", 1);
  CHECK(module_path(kModule) == program_folder() + "/acid-nothing.so");
  unsetenv(kModule.variable);
}

TEST_CASE("a module that cannot be loaded is explained: where, why, and what to do") {
  const std::string path = program_folder() + "/acid-nothing.so";
  std::string said;
  try {
    load_module(kModule);
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK_THAT(said,
             StartsWith("cannot load the module '" + path + "': cannot open") &&
                 ContainsSubstring("No such file") &&
                 ContainsSubstring("; no program needs it: build the target acid_programs (") &&
                 ContainsSubstring(", which has it where there is nothing, or name the "
                                   "module in ACID_NOTHING_MODULE"));
  CHECK(said.find(path) == said.rfind(path));
  setenv(kModule.variable, "libm.so.6", 1);  // a library without the factory
  CHECK_THROWS_WITH(load_module(kModule), ContainsSubstring("undefined symbol: acid_nothing"));
  unsetenv(kModule.variable);
}
