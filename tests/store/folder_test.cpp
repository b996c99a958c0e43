// The folders of a store: they are durable, and unreadable ones are reported.
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <optional>
#include <set>

#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid::test {
void see_fsync(int descriptor);
}

// Replaces the C library's fsync.
extern "C" int fsync(int descriptor) {
  acid::test::see_fsync(descriptor);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// The folders that this program synced during its life.
class SyncedFolders {
 public:
  SyncedFolders() {
    const std::lock_guard lock(mutex);
    seen.emplace();
  }
  ~SyncedFolders() {
    const std::lock_guard lock(mutex);
    seen.reset();
  }
  bool include(const std::string& folder) const {
    struct stat facts {};
    REQUIRE(stat(folder.c_str(), &facts) == 0);
    const std::lock_guard lock(mutex);
    return seen->count({facts.st_dev, facts.st_ino}) == 1;
  }
  static void see(int descriptor) {
    struct stat facts {};
    const std::lock_guard lock(mutex);
    if (seen && fstat(descriptor, &facts) == 0) seen->insert({facts.st_dev, facts.st_ino});
  }

 private:
  static inline std::mutex mutex;
  static inline std::optional<std::set<std::pair<dev_t, ino_t>>> seen;
};

TEST_CASE("every folder that is made for a store is made durable") {
  ScratchFolder temp;
  SyncedFolders synced;
  const Store store(temp.store() + "/deep/er", Store::Access::write);
  for (const char* parent : {"", "/store", "/store/deep", "/store/deep/er"}) {
    INFO(parent);
    CHECK(synced.include(temp.path() + parent));
  }
}

TEST_CASE("what the file system cannot look at is named as a problem of the store") {
  ScratchFolder temp;
  SECTION("the folder is a link to itself") {
    fs::create_directory_symlink("store", temp.store());
    CHECK_THAT(error_of(temp.store(), Store::Access::write),
               ContainsSubstring("Too many levels of symbolic links"));
    CHECK_THAT(error_of(temp.store(), Store::Access::read),
               ContainsSubstring("Too many levels of symbolic links"));
  }
  SECTION("the database is a pipe") {
    fs::create_directory(temp.store());
    REQUIRE(mkfifo((temp.store() + "/store.db").c_str(), 0600) == 0);
    for (const Store::Access access : {Store::Access::read, Store::Access::write})
      CHECK_THAT(error_of(temp.store(), access), ContainsSubstring("is no file"));
  }
  SECTION("the log is no file") {
    make_store(temp.store(), {});
    fs::remove(temp.store() + "/store.db-wal");
    fs::create_directory(temp.store() + "/store.db-wal");
    CHECK_THAT(error_of(temp.store(), Store::Access::read), ContainsSubstring("cannot look into"));
  }
}

TEST_CASE("a folder with SQLite's name for memory is a store like any other") {
  const ScratchFolder temp;
  const fs::path before = fs::current_path();
  fs::create_directory(temp.path() + "/here");
  fs::current_path(temp.path() + "/here");
  make_store(":memory:", {});
  make_store("other", {});
  CHECK(Store(":memory:", Store::Access::read).folder().ends_with(":memory:"));
  fs::current_path(before);
}

}  // namespace

void test::see_fsync(int descriptor) { SyncedFolders::see(descriptor); }

}  // namespace acid
