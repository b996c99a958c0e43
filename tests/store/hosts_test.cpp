// A store that several hosts write to.
#include "store/hosts.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "store/impl.hpp"
#include "store/queries.hpp"
#include "tests/catch.hpp"
#include "tests/store/story.hpp"

using namespace acid;
namespace fs = std::filesystem;

namespace {

std::string journal_of(const std::string& folder) {
  return test::first_text(Store(folder, Store::Access::write), "PRAGMA journal_mode");
}

}  // namespace

TEST_CASE("network file systems are recognised") {
  for (const long type : {0x6969L, 0x517BL, 0xFF534D42L, 0x01021997L, 0x0BD00BD0L, 0x65735546L,
                          0x5346414FL, 0x73757245L, 0x786F4256L, 0xBACBACBCL})
    CHECK(is_network_file_system(type));
  // A type with the top bit set, as a 32-bit system would give it.
  CHECK(is_network_file_system(static_cast<std::int32_t>(0xFF534D42)));
  for (const long type : {0xEF53L, 0x58465342L, 0x9123683EL, 0x01021994L, 0x794C7630L})
    CHECK_FALSE(is_network_file_system(type));
}

TEST_CASE("a store that hosts share has no write-ahead log, and stays so") {
  const test::ScratchFolder temp;
  const std::string shared = temp.store() + "/new", used = temp.store() + "/used";
  share_among_hosts(shared);
  CHECK(journal_of(shared) == "delete");
  CHECK(journal_of(shared) == "delete");
  {
    const Store store(shared, Store::Access::write);
    CHECK(store.impl().connection().pragma("synchronous") == 2);
  }
  CHECK_FALSE(fs::exists(shared + "/store.db-wal"));

  CHECK(journal_of(used) == "wal");
  CHECK_FALSE(is_shared_among_hosts(used));
  {
    // A process of this host that has it open goes on with its log, and so do others meanwhile.
    const Store open(used, Store::Access::write);
    share_among_hosts(used);
    CHECK(journal_of(used) == "wal");
  }
  CHECK(journal_of(used) == "delete");
  fs::remove(used + "/shared-among-hosts");  // as the manual says
  CHECK(journal_of(used) == "wal");
}

TEST_CASE("readers of a shared store undo what a killed writer had begun, also those at work") {
  const test::ScratchFolder temp;
  share_among_hosts(temp.store());
  Store(temp.store(), Store::Access::write)
      .add_experiment(test::make_experiment("e"), {test::make_run(1)});
  const Store reader(temp.store(), Store::Access::read);
  REQUIRE(list_runs(reader).size() == 1);
  const pid_t writer = test::start([&] {
    const sqlite::Connection connection = test::raw_connection(temp.store());
    connection.execute(
        "PRAGMA cache_size = 1; BEGIN IMMEDIATE; DELETE FROM experiment_runs; DELETE FROM runs;" +
        test::kManyExperiments);
    kill(getpid(), SIGKILL);
  });
  int status = 0;
  REQUIRE(waitpid(writer, &status, 0) == writer);
  REQUIRE(WIFSIGNALED(status));
  REQUIRE(fs::exists(temp.store() + "/store.db-journal"));
  CHECK(list_runs(reader).size() == 1);
  CHECK_FALSE(fs::exists(temp.store() + "/store.db-journal"));
  CHECK_THROWS_AS(reader.impl().connection().execute("DELETE FROM runs"), StoreError);
}

TEST_CASE("mounts that keep file locks to each host are told from others") {
  const auto fails = [](const char* type, const char* options) {
    return !why_locks_fail(type, options).empty();
  };
  CHECK(fails("nfs", "rw,relatime,vers=3,nolock,addr=10.0.0.1"));
  CHECK(fails("nfs4", "rw,local_lock=all"));
  CHECK(fails("nfs", "local_lock=posix,rw"));
  CHECK(fails("lustre", "rw,localflock"));
  CHECK(fails("cifs", "rw,nobrl"));
  CHECK(fails("fuse.sshfs", "rw"));
  CHECK(fails("9p", "rw,trans=virtio"));
  for (const char* type : {"fuse", "fuse.rclone", "afs", "virtiofs", "beegfs", "vboxsf", "ocfs2"}) {
    INFO(type);
    CHECK_THAT(why_locks_fail(type, "rw"), ContainsSubstring(type));
  }
  CHECK(fails("gfs2", "rw,localflocks"));
  CHECK(fails("gfs2", "rw,lockproto=lock_nolock"));
  for (const char* type : {"gfs2", "ceph", "gpfs", "lustre", "nfs4", "cifs", "fuse.juicefs", "ext4",
                           "xfs", "btrfs", "tmpfs", "overlay", "fuseblk", ""}) {
    INFO(type);
    CHECK_FALSE(fails(type, "rw"));
  }
  CHECK_FALSE(fails("nfs", "rw,vers=3,local_lock=none,hard"));
  CHECK_FALSE(fails("nfs4", "rw,local_lock=flock"));  // SQLite's are of another kind
  CHECK_FALSE(fails("nfs4", "rw,clientaddr=nolock.example"));
  CHECK_FALSE(fails("lustre", "rw,flock,lazystatfs"));
  CHECK_FALSE(fails("fuse.glusterfs", "rw"));
  CHECK_FALSE(fails("ext4", "rw,nolock"));
  CHECK_THAT(why_locks_fail("nfs", "nolock"), ContainsSubstring("'nolock'"));
}

TEST_CASE("a folder's own locks are tried, and nothing is left behind") {
  const test::ScratchFolder temp;
  fs::create_directories(temp.store());
  CHECK(why_locks_fail(temp.store()).empty());
  CHECK(why_locks_fail(temp.store() + "/not/yet/there").empty());
  CHECK(fs::is_empty(temp.store()));
}
