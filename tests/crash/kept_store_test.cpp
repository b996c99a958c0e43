// SIGKILL at any time while stores are merged and runs removed: the store is as before or complete.
//
// ACID_KEPT_ROUNDS asks for more kills, ACID_CRASH_SEED chooses other times.
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <random>

#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/store/upkeep_fixture.hpp"

using namespace acid;
using namespace acid::test;
namespace fs = std::filesystem;

namespace {

/// Stores with some runs of many values, checkpoints and models.
class KeptStores : public Folder {
 public:
  KeptStores() {
    make("mine", 1, 4);
    make("other", 3, 8);
    if (const char* const rounds = std::getenv("ACID_KEPT_ROUNDS")) rounds_ = std::atoi(rounds);
    if (const char* const seed = std::getenv("ACID_CRASH_SEED"))
      random_.seed(std::strtoull(seed, nullptr, 10));
  }

  /// Kills the command at random moments, always on a new copy of "mine". What is left is the store
  /// as before, or as the whole command leaves it.
  void kill_often(const std::vector<std::string>& command) {
    restore();
    const std::string before = contents();
    const double seconds = done(command).seconds;
    const std::string after = contents();
    REQUIRE(before != after);
    int killed = 0, unchanged = 0;
    for (int round = 0; round < rounds_; ++round) {
      restore();
      Running running(*this, command);
      sleep_seconds(1.05 * seconds * static_cast<double>(random_() >> 11) * 0x1p-53);
      kill(running.pid(), SIGKILL);
      killed += running.wait().signal == SIGKILL ? 1 : 0;
      INFO("round " << round);
      const std::string left = contents();
      CHECK((left == before || left == after));
      unchanged += left == before ? 1 : 0;
    }
    if (rounds_ > 5)
      std::cerr << fmt::format("{}: {} of {} killed, {} left the store as before\n",
                               command.front(), killed, rounds_, unchanged);
    CHECK(killed > 0);
    if (contents() == before) done(command);  // over what the last kill left
    CHECK(contents() == after);
  }

  /// Interrupts a merge into a new store at random moments, which leaves no unfinished one.
  void interrupt_often() {
    const std::vector<std::string> command{"merge", "mine", "other", "--store", "new"};
    const double seconds = done(command).seconds;
    int interrupted = 0;
    for (int round = 0; round < 4 * rounds_; ++round) {
      fs::remove_all(path("new"));
      Running running(*this, command);
      sleep_seconds(seconds * static_cast<double>(random_() >> 11) * 0x1p-53);
      kill(running.pid(), round % 2 == 0 ? SIGINT : SIGTERM);
      const Result result = running.wait();
      INFO("round " << round << ", code " << result.code << ": " << result.err);
      CHECK(unfinished().empty());
      // A signal that comes when all is merged ends acid as it ends any program: all stays.
      const bool merged = fs::exists(path("new"));
      if (result.code == 0) CHECK(merged);
      if (result.code == 130) CHECK_FALSE(merged);
      if (merged) CHECK(faults(path("new")) == "");
      if (result.code == 130) ++interrupted;
    }
    CHECK(interrupted > 0);
    fs::remove_all(path("new"));
    done(command);
  }

  /// Kills a merge into a new store at random moments; what it leaves goes with the next one.
  void kill_into_new() {
    const std::vector<std::string> command{"merge", "mine", "other", "--store", "new"};
    const double seconds = done(command).seconds;
    bool left = false;
    for (int round = 0; round < 20 * rounds_ && !left; ++round) {
      fs::remove_all(path("new"));
      Running running(*this, command);
      sleep_seconds(seconds * static_cast<double>(random_() >> 11) * 0x1p-53);
      kill(running.pid(), SIGKILL);
      running.wait();
      left = !unfinished().empty() && fs::exists(unfinished().front() + "/store.db");
    }
    CHECK(left);
    fs::remove_all(path("new"));
    done(command);
    CHECK(unfinished().empty());
    CHECK_FALSE(fs::exists(path("new/merging")));
    CHECK(faults(path("new")) == "");
  }

 private:
  std::vector<std::string> unfinished() const {
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(path()))
      if (entry.path().filename().string().find(".merging-") != std::string::npos)
        folders.push_back(entry.path());
    return folders;
  }
  void make(const std::string& name, std::uint64_t first, std::uint64_t last) const {
    std::vector<RunRecord> runs;
    for (std::uint64_t seed = first; seed <= last; ++seed) runs.push_back(make_run(seed));
    Store store(path(name), Store::Access::write);
    store.add_experiment(make_experiment(name), runs);
    for (const RunRecord& run : runs) {
      Execution execution(store, run.id);
      execution.work(400);
      execution.checkpoint("cut");
      execution.end(RunState::finished);
    }
  }
  void restore() const {
    fs::remove_all(path("acid-store"));
    fs::copy(path("mine"), path("acid-store"), fs::copy_options::recursive);
  }
  /// Of a store that is sound but for files that gc removes: they are made old, and removed.
  std::string contents() const {
    for (const auto& file : fs::recursive_directory_iterator(path("acid-store/checkpoints")))
      if (file.is_regular_file())
        make_old(path("acid-store"), fs::relative(file, path("acid-store")));
    done({"gc", "--keep-checkpoints"});
    const auto sound = told({"doctor", "--store"});
    CHECK(sound["findings"].empty());
    CHECK(faults(path("acid-store")) == "");
    return sound["contents"].is_string() ? sound["contents"].get<std::string>() : "unsound";
  }

  int rounds_ = kSanitized ? 2 : 5;
  std::mt19937_64 random_{20261127};
};

}  // namespace

TEST_CASE("a merge that is killed at any time leaves the store as it was, or complete") {
  KeptStores().kill_often({"merge", "other"});
}

TEST_CASE("a merge into a new store that is interrupted leaves nothing") {
  KeptStores().interrupt_often();
}

TEST_CASE("what a killed merge into a new store leaves goes with the next merge into it") {
  KeptStores().kill_into_new();
}

TEST_CASE("a removal that is killed at any time leaves the store as it was, or complete") {
  KeptStores().kill_often({"remove", "mine", "--yes"});
}
