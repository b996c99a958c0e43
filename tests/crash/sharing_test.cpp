// Several processes and one store, and a store that is moved elsewhere.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "store/sqlite.hpp"
#include "tests/catch.hpp"
#include "tests/crash/bench.hpp"
#include "tests/crash/recipes.hpp"
#include "tests/waiting.hpp"

using namespace acid::test;
namespace fs = std::filesystem;

namespace {

void check_one_attempt_each(const Bench& bench) {
  for (const auto& run : bench.runs()) CHECK(bench.shown(run["id"])["attempts"].size() == 1);
}

}  // namespace

TEST_CASE("a store that another process holds locked for three seconds delays a run, no more") {
  const Bench bench(plain_recipe());
  Running running = bench.start();
  REQUIRE(bench.has_checkpoint_within(kPatienceSeconds));
  {
    const std::string folder = bench.path("acid-store");
    using namespace acid::sqlite;
    const Connection connection(folder + "/store.db", folder, Connection::Mode::write);
    Transaction transaction(connection, Transaction::Kind::write);
    sleep_seconds(3);
    // Without a change there is nothing to commit; only the lock matters.
  }
  const Result result = wait_at_most(bench, running, kPatienceSeconds);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.seconds > 3);
  bench.check_sound();
  CHECK(difference(uninterrupted(plain_recipe()), bench.kept()) == "");
  check_one_attempt_each(bench);
}

TEST_CASE("two acids run different recipes in one store side by side, and share equal runs") {
  const std::string one = virtual_variants()[0].recipe, other = virtual_variants()[1].recipe;
  for (const bool same : {false, true}) {
    const Bench bench(one);
    bench.write("other.toml", same ? one : other);
    Running first = bench.start();
    Running second(bench, {"run", "other.toml"});
    const Result left = wait_at_most(bench, first, kPatienceSeconds),
                 right = wait_at_most(bench, second, kPatienceSeconds);
    INFO(left.err << right.err);
    REQUIRE((left.code == 0 && right.code == 0));
    auto expected = uninterrupted(one);
    if (same) CHECK(left.out == right.out);
    if (!same) expected.merge(uninterrupted(other));
    CHECK(difference(expected, bench.kept()) == "");
    bench.check_sound();
    if (same) check_one_attempt_each(bench);
  }
}

// ACID_SHARING_ROUNDS rounds, 1 if it is not set; ACID_SHARING_SEED draws other kills.
TEST_CASE("four acids share one recipe's runs while they and their workers are killed") {
  const auto number = [](const char* name, int fallback) {
    const char* const text = std::getenv(name);
    return text == nullptr ? fallback : std::atoi(text);
  };
  const int rounds = number("ACID_SHARING_ROUNDS", 1);
  std::mt19937 random(static_cast<unsigned>(number("ACID_SHARING_SEED", 1)));
  const auto expected = uninterrupted(many_recipe());
  int kills = 0;
  for (int round = 0; round < rounds; ++round) {
    const Bench bench(many_recipe());
    // Half of the rounds say how the runs are divided, half leave it to the processes.
    std::vector<std::unique_ptr<Running>> acids;
    const auto start = [&](int part) {
      std::vector<std::string> options;
      if (round % 2 == 0) options = {"--share", std::to_string(part + 1) + "/4"};
      acids.push_back(std::make_unique<Running>(bench.start(options)));
    };
    for (int part = 0; part < 4; ++part) start(part);
    for (int kill_number = 0; kill_number < 6; ++kill_number) {
      sleep_seconds(0.05 + 0.001 * static_cast<double>(random() % 400));
      const auto processes = random() % 2 == 0 ? bench.workers() : bench.processes();
      if (processes.empty()) continue;
      kill(processes[random() % processes.size()], SIGKILL);
      ++kills;
    }
    for (auto& acid : acids) wait_at_most(bench, *acid, kPatienceSeconds);
    REQUIRE(bench.falls_silent(kPatienceSeconds));
    const Result end = bench.done();  // what is left if all four were killed
    INFO("round " << round << ", " << end.err);
    bench.check_sound();
    CHECK(difference(expected, bench.kept()) == "");
    for (const auto& run : bench.runs()) {
      int finished = 0;
      const auto shown = bench.shown(run["id"]);
      for (const auto& attempt : shown["attempts"]) finished += attempt["outcome"] == "finished";
      CHECK(finished == 1);
    }
  }
  WARN(kills << " kills in " << rounds << " rounds");
}

TEST_CASE("parts with stores of their own end in one store, also what an earlier division left") {
  const std::string recipe = "seeds = [1, 2]\n" + short_recipe();
  const Bench bench(recipe);
  const auto part = [&](const std::string& share) {
    return bench.run({"--share", share, "--own-stores"});
  };
  CHECK_THAT(part("1/3").err, ContainsSubstring("part 1 of 3 has ended"));  // never continued
  CHECK_THAT(part("1/2").err, ContainsSubstring("part 1 of 2 has ended"));
  CHECK_FALSE(fs::exists(bench.path("acid-store/store.db")));
  const fs::path parts = bench.path("acid-store/parts"),
                 one = fs::directory_iterator(parts)->path() / "1-of-2";
  fs::rename(one / "store.db", one / "away");
  fs::create_directory(one / "store.db");
  CHECK(part("2/2").code == 3);  // what cannot be merged stays
  fs::remove(one / "store.db");
  fs::rename(one / "away", one / "store.db");
  CHECK_THAT(part("2/2").err, ContainsSubstring("all 2 parts have ended and are merged"));
  CHECK(fs::is_empty(parts));
  bench.check_sound();
  CHECK(difference(uninterrupted(recipe), bench.kept()) == "");
  CHECK_THAT(part("1/2").err, ContainsSubstring("have ended in"));
  CHECK(fs::is_empty(parts));
}

TEST_CASE("parts that are executed side by side are merged once") {
  const std::string recipe = "seeds = [1, 2]\n" + short_recipe();
  const Bench bench(recipe);
  Running one = bench.start({"--share", "1/2", "--own-stores"});
  Running other = bench.start({"--share", "2/2", "--own-stores"});
  int merged = 0;
  for (Running* part : {&one, &other}) {
    const Result result = wait_at_most(bench, *part, kPatienceSeconds);
    INFO(result.err);
    CHECK(result.code == 0);
    if (result.err.find("all 2 parts have ended and are merged") != std::string::npos) ++merged;
  }
  CHECK(merged == 1);
  CHECK(fs::is_empty(bench.path("acid-store/parts")));
  bench.check_sound();
  CHECK(difference(uninterrupted(recipe), bench.kept()) == "");
}

TEST_CASE("a part that was killed while it merged is replaced by the next") {
  const Bench bench("seeds = [1, 2]\n" + short_recipe());
  const auto part = [&](const std::string& share) {
    return bench.run({"--share", share, "--own-stores"});
  };
  CHECK(part("1/2").code == 0);
  const std::string parts = bench.path("acid-store/parts"), merging = parts + "/merging";
  put(merging, "");
  fs::last_write_time(merging, fs::file_time_type::clock::now() - std::chrono::minutes(10));
  CHECK_THAT(part("2/2").err, ContainsSubstring("all 2 parts have ended and are merged"));
  CHECK(fs::is_empty(parts));
}

TEST_CASE("a part waits while the parts of any recipe are merged into its store") {
  const Bench bench(short_recipe());
  const std::string parts = bench.path("acid-store/parts"), merging = parts + "/merging";
  fs::create_directories(parts);
  put(merging, "");
  Running running = bench.start({"--share", "1/1", "--own-stores"});
  const auto waits = [&] {
    return running.err().find("waiting while another task merges") != std::string::npos;
  };
  CHECK(comes_true(waits));
  CHECK_FALSE(fs::exists(bench.path("acid-store/store.db")));
  fs::remove(merging);
  const Result result = wait_at_most(bench, running, kPatienceSeconds);
  CHECK(result.code == 0);
  CHECK_THAT(result.err, ContainsSubstring("all 1 parts have ended and are merged"));
  CHECK(fs::is_empty(parts));
}

TEST_CASE("a merge into a new store takes no folder over that another process left") {
  const Bench bench(short_recipe());
  bench.done();
  const Result merged = bench.shell(
      "mkdir new.merging-$$\ntouch new.merging-$$/left\nexec \"$ACID\" merge acid-store --store "
      "new");
  INFO(merged.err);
  CHECK(merged.code == 0);
  CHECK_FALSE(fs::exists(bench.path("new/left")));
  CHECK(faults(bench.path("new")) == "");
}

TEST_CASE("a store that was copied elsewhere goes on there, and the original here") {
  const Stopped killed = stopped_run(plain_recipe(), [](const Bench& its_bench, const Running&) {
    for (const pid_t pid : its_bench.processes()) kill(pid, SIGKILL);
  });
  const Bench& bench = *killed.bench;
  const Bench elsewhere(plain_recipe());
  fs::copy(bench.path("acid-store"), elsewhere.path("acid-store"), fs::copy_options::recursive);
  const auto expected = uninterrupted(plain_recipe());
  for (const Bench* each : {&elsewhere, &bench}) {
    each->done();
    each->check_sound();
    CHECK(difference(expected, each->kept()) == "");
    const auto attempts = each->shown()["attempts"];
    REQUIRE(attempts.size() == 2);
    CHECK(attempts[1]["resumed_from"].is_number());
  }
}

TEST_CASE("a run whose store is removed or moved ends with 3 and says where everything is now") {
  const bool moved = GENERATE(false, true);
  const Bench bench(plain_recipe());
  Running running = bench.start({"--set", "budget.gradients=100000000", "--set", "seeds=[1, 2]"});
  REQUIRE(bench.has_checkpoint_within(kPatienceSeconds));
  std::string id;  // of the run that is at work; the other one never begins
  for (const auto& run : bench.runs())
    if (run["state"] == "running") id = run["id"];
  if (moved)
    fs::rename(bench.path("acid-store"), bench.path("elsewhere"));
  else
    for (std::error_code raced; fs::exists(bench.path("acid-store"));)  // with the run's new files
      fs::remove_all(bench.path("acid-store"), raced);
  const Result result = wait_at_most(bench, running, kPatienceSeconds);
  INFO(result.err);
  CHECK(result.code == 3);
  CHECK(result.err.find("was removed or moved while it was in use") != std::string::npos);
  const std::string kept = moved ? "elsewhere" : "acid-store-kept-" + id + "-1";
  CHECK(result.err.find(kept) != std::string::npos);
  CHECK_FALSE(fs::exists(bench.path("acid-store")));
  const auto runs = bench.call({"list", "--json", "--store", kept}).json()["runs"];
  const auto stopped = std::ranges::find(runs, nlohmann::json(id),
                                         [](const nlohmann::json& run) { return run["id"]; });
  REQUIRE(stopped != runs.end());
  CHECK(runs.size() == 2);
  CHECK((*stopped)["state"] == "interrupted");
  CHECK_FALSE((*stopped)["metrics"].empty());
}
