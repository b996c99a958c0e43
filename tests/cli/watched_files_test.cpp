// Files that change while a run begins.
#include "worker/watched_files.hpp"

#include <ctime>
#include <fstream>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/scratch.hpp"

namespace acid::test {

TEST_CASE("a file that changed after it was read is told, however soon it is looked at") {
  const ScratchFolder folder;
  const std::string path = folder.path() + "/data";
  const auto write = [&](const char* text) { std::ofstream(path) << text; };
  const std::time_t since = std::time(nullptr);
  write("old");
  const FileDigests read{{path, sha256_file(path)}};
  write("new");
  WatchedFiles changed(read, since);
  CHECK_THROWS_WITH(changed.refuse_changed(), Catch::Contains("changed during the run"));
  write("old");
  WatchedFiles same(read, since);
  CHECK_NOTHROW(same.refuse_changed());
  write("new");
  CHECK_THROWS_AS(same.refuse_changed(), Error);
}

}  // namespace acid::test
