// Which process holds a run, and how long.
#include <sys/wait.h>

#include <csignal>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

/// A process that sleeps until it is killed.
class Sleeper {
 public:
  Sleeper() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_ = fork();
    lease_ = Lease::of_this_process();
    if (pid_ == 0) {
      const bool told = write(ends[1], &lease_.process_start, sizeof lease_.process_start) > 0;
      while (told) pause();
      _exit(1);
    }
    lease_.pid = pid_;
    REQUIRE(read(ends[0], &lease_.process_start, sizeof lease_.process_start) > 0);
    close(ends[0]);
    close(ends[1]);
  }
  ~Sleeper() {
    kill();
    waitpid(pid_, nullptr, 0);
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  const Lease& lease() const { return lease_; }  // as the process itself would take it

 private:
  pid_t pid_ = 0;
  Lease lease_;
};

TEST_CASE("the lease of this process is alive, and not one of a number that another has now") {
  Lease lease = Lease::of_this_process();
  CHECK(lease.pid == getpid());
  CHECK(lease.process_start > 0);
  CHECK_FALSE((lease.host.empty() || lease.boot_id.empty()));
  CHECK(lease.alive());
  CHECK_FALSE(dead_lease().alive());
  lease.boot_id = "an earlier boot";
  CHECK_FALSE(lease.alive());
  lease.host = "elsewhere";
  CHECK(lease.alive());  // or may be
}

TEST_CASE("a killed process is dead at once, even before its parent has noticed") {
  Sleeper sleeper;
  CHECK(sleeper.lease().alive());
  sleeper.kill();
  CHECK(comes_true([&] { return !sleeper.lease().alive(); }));
}

TEST_CASE("of a process on another host or in another PID namespace the heartbeat decides") {
  Lease lease = Lease::of_this_process();
  CHECK(goes_on(lease, 1e9));
  const std::size_t space = lease.boot_id.find(" pid:[");
  REQUIRE(space != std::string::npos);
  Lease apart = dead_lease();  // the process number belongs to another process here
  apart.boot_id = lease.boot_id.substr(0, space) + " pid:[1]";
  CHECK(apart.alive());
  for (const Lease& unseen : {lease_elsewhere(), apart}) {
    CHECK(goes_on(unseen, kHeartbeatLostSeconds - 1));
    CHECK_FALSE(goes_on(unseen, kHeartbeatLostSeconds + 1));
  }
  // A lease that does not name its PID namespace is looked up as in this one.
  lease.boot_id.resize(space);
  CHECK(lease.alive());
  CHECK(goes_on(lease, 1e9));
  lease.process_start -= 1;
  CHECK_FALSE(lease.alive());
}

TEST_CASE("the moment of a store passes when a process that executes a run is killed") {
  OneRun f;
  const Sleeper sleeper;
  f.store.begin_attempt(f.run.id, sleeper.lease(), {}, {}, {});
  const Store reader(f.temp.store(), Store::Access::read);
  const std::string alive = store_moment(reader);
  CHECK(store_moment(reader) == alive);
  sleeper.kill();
  CHECK(comes_true([&] { return !sleeper.lease().alive(); }));
  CHECK(store_moment(reader) != alive);
}

TEST_CASE("a living process keeps its run, and the refusal names it") {
  OneRun f;
  const Lease mine = Lease::of_this_process();
  f.begin();
  CHECK_THROWS_AS(f.begin(), StoreError);
  CHECK_THROWS_WITH(f.begin(), ContainsSubstring(mine.host) &&
                                   ContainsSubstring(std::to_string(mine.pid)) &&
                                   ContainsSubstring(f.run.id));
}

TEST_CASE("the run of a dead process shows as interrupted and can begin again") {
  OneRun f;
  f.begin(dead_lease());
  const RunDetail dead = f.detail();
  CHECK(dead.summary.state == RunState::interrupted);
  CHECK_FALSE(dead.summary.finished.empty());
  CHECK(dead.attempts.at(0).outcome == "interrupted");
  RunFilter interrupted, where;
  interrupted.state = RunState::interrupted;
  where.where = {"state = 'interrupted'"};
  for (const RunFilter& filter : {interrupted, where})
    CHECK(list_runs(f.store, filter).size() == 1);
  f.begin();
  const RunDetail alive = f.detail();
  CHECK(alive.summary.state == RunState::running);
  REQUIRE(alive.attempts.size() == 2);
  CHECK(alive.attempts[0].outcome == "interrupted");
  CHECK_THAT(alive.attempts[0].message, ContainsSubstring("was gone"));
  CHECK(alive.attempts[1].outcome.empty());
  CHECK_THROWS_WITH(test::begin(f.store, "nope"), ContainsSubstring("no run nope"));
}

}  // namespace
}  // namespace acid
