#include "engine/base/module.hpp"

#include <cstdlib>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

constexpr Module kModule{.name = "acid-nothing.so",
                         .variable = "ACID_NOTHING_MODULE",
                         .factory = "acid_nothing",
                         .remedy = "nobody needs it: leave it"};

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
  CHECK_THROWS_WITH(load_module(kModule),
                    ContainsSubstring("'" + program_folder() + "/acid-nothing.so': ") &&
                        ContainsSubstring("No such file") &&
                        ContainsSubstring("; nobody needs it: leave it, or name the module in "
                                          "ACID_NOTHING_MODULE"));
  setenv(kModule.variable, "libm.so.6", 1);  // a library without the factory
  CHECK_THROWS_WITH(load_module(kModule), ContainsSubstring("undefined symbol: acid_nothing"));
  unsetenv(kModule.variable);
}
