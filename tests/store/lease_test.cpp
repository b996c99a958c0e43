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

TEST_CASE("the lease of this process is alive") {
  const Lease lease = Lease::of_this_process();
  CHECK(lease.pid == getpid());
  CHECK(lease.process_start > 0);
  CHECK_FALSE(lease.host.empty());
  CHECK_FALSE(lease.boot_id.empty());
  CHECK(lease.alive());
}

TEST_CASE("a process id used again by another process is not taken for the old one") {
  Lease lease = Lease::of_this_process();
  lease.process_start -= 1;
  CHECK_FALSE(lease.alive());
}

TEST_CASE("a killed process is dead at once, even before its parent has noticed") {
  Sleeper sleeper;
  const Lease& lease = sleeper.lease();
  CHECK(lease.alive());
  sleeper.kill();
  CHECK(comes_true([&] { return !lease.alive(); }));
}

TEST_CASE("a process before the last boot is dead, and one on another host may live") {
  Lease lease = Lease::of_this_process();
  lease.boot_id = "an earlier boot";
  CHECK_FALSE(lease.alive());
  lease.host = "elsewhere";
  CHECK(lease.alive());
}

TEST_CASE("of a process on another host the heartbeat decides") {
  Lease lease = Lease::of_this_process();
  CHECK(goes_on(lease, 1e9));
  lease.host = "elsewhere";
  CHECK(goes_on(lease, kHeartbeatLostSeconds - 1));
  CHECK_FALSE(goes_on(lease, kHeartbeatLostSeconds + 1));
}

TEST_CASE("of a process in another PID namespace of this host the heartbeat decides") {
  Lease lease = Lease::of_this_process();
  const std::size_t space = lease.boot_id.find(" pid:[");
  REQUIRE(space != std::string::npos);
  lease.boot_id = lease.boot_id.substr(0, space) + " pid:[1]";
  lease.process_start -= 1;  // the process number belongs to another process here
  CHECK(lease.alive());
  CHECK(goes_on(lease, kHeartbeatLostSeconds - 1));
  CHECK_FALSE(goes_on(lease, kHeartbeatLostSeconds + 1));
}

TEST_CASE("a lease that does not name its PID namespace is looked up as in this one") {
  Lease lease = Lease::of_this_process();
  lease.boot_id.resize(lease.boot_id.find(' '));
  CHECK(lease.alive());
  CHECK(goes_on(lease, 1e9));
  lease.process_start -= 1;
  CHECK_FALSE(lease.alive());
}

TEST_CASE("the moment of a store passes when a process that executes a run is killed") {
  const TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const Sleeper sleeper;
  store.begin_attempt(run.id, sleeper.lease(), {}, {}, {});
  const Store reader(temp.store(), Store::Access::read);
  const std::string alive = store_moment(reader);
  CHECK(store_moment(reader) == alive);
  sleeper.kill();
  CHECK(comes_true([&] { return !sleeper.lease().alive(); }));
  CHECK(store_moment(reader) != alive);
}

TEST_CASE("a living process keeps its run, and the refusal names it") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const Lease mine = Lease::of_this_process();
  begin(store, run.id);
  CHECK_THROWS_AS(begin(store, run.id), StoreError);
  CHECK_THROWS_WITH(begin(store, run.id), ContainsSubstring(mine.host) &&
                                              ContainsSubstring(std::to_string(mine.pid)) &&
                                              ContainsSubstring(run.id));
}

TEST_CASE("the run of a dead process shows as interrupted and can begin again") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  Lease gone = Lease::of_this_process();
  gone.process_start -= 1;
  store.begin_attempt(run.id, gone, {}, {}, {});
  const RunDetail dead = run_detail(store, run.id);
  CHECK(dead.summary.state == RunState::interrupted);
  CHECK_FALSE(dead.summary.finished.empty());
  CHECK(dead.attempts.at(0).outcome == "interrupted");
  RunFilter interrupted;
  interrupted.state = RunState::interrupted;
  CHECK(list_runs(store, interrupted).size() == 1);
  RunFilter where;
  where.where = {"state = 'interrupted'"};
  CHECK(list_runs(store, where).size() == 1);

  begin(store, run.id);
  const RunDetail alive = run_detail(store, run.id);
  CHECK(alive.summary.state == RunState::running);
  REQUIRE(alive.attempts.size() == 2);
  CHECK(alive.attempts[0].outcome == "interrupted");
  CHECK_THAT(alive.attempts[0].message, ContainsSubstring("was gone"));
  CHECK(alive.attempts[1].outcome.empty());
}

TEST_CASE("a run that does not exist cannot begin") {
  TempFolder temp;
  Store store = make_store(temp.store(), {});
  CHECK_THROWS_WITH(begin(store, "nope"), ContainsSubstring("no run nope"));
}

}  // namespace
}  // namespace acid
