// Stores that are merged: the outcome does not depend on the order, and nothing is lost.
//
// ACID_SEQUENCES asks for more random sequences, ACID_SEQUENCES_SEED draws others.
#include "store/merge.hpp"

#include <array>
#include <cstdlib>
#include <memory>

#include "tests/catch.hpp"
#include "tests/store/histories.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::uint64_t asked_number(const char* variable, std::uint64_t usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}
std::uint64_t first_seed() { return asked_number("ACID_SEQUENCES_SEED", 1); }

/// Three stores with histories of their own. The second and third begin as copies of the first.
struct ThreeStores {
  explicit ThreeStores(std::uint64_t seed) : histories(seed) {
    stores.emplace_back(temps[0].store(), Store::Access::write);
    histories.ask(stores[0]);
    histories.execute(stores[0]);
    execute(stores[0], "PRAGMA wal_checkpoint(TRUNCATE)");
    for (std::size_t s = 1; s < temps.size(); ++s) {
      fs::copy(temps[0].store(), temps[s].store(), fs::copy_options::recursive);
      for (const char* const log : {"/store.db-wal", "/store.db-shm"})
        fs::remove(temps[s].store() + log);
      stores.emplace_back(temps[s].store(), Store::Access::write);
    }
  }
  void go_on(int steps) {
    for (int step = 0; step < steps; ++step) {
      Store& store = stores[histories.below(3)];
      const std::size_t what = histories.below(8);
      if (what == 0) histories.ask(store);
      if (what >= 1 && what <= 6) histories.execute(store);
      if (what == 7) histories.tag(store);
    }
  }
  std::string folder(std::size_t store) const { return temps[store].store(); }

  Histories histories;
  std::array<ScratchFolder, 3> temps;
  std::vector<Store> stores;
};

/// A store in which a run was executed once, with this final digest.
struct Executed {
  Executed(const RunRecord& run, const std::string& digest, double value, const Lease& lease) {
    Store store = make_store(temp.store(), {run});
    const std::int64_t attempt = store.begin_attempt(run.id, lease, {}, {}, {});
    RunWriter writer(temp.store(), run.id, attempt);
    sample(writer, {1, 1, 1, 1}, {{"train_loss", kWholeRun, value}});
    writer.flush();
    AttemptResult result;
    result.position = {1, 1, 1, 1};
    result.mean_digest = sha256_hex(digest);
    result.worker_digests = {sha256_hex(digest)};
    const std::string path = path_of(run.id, "1-final-mean.safetensors");
    write_file(temp.store(), path, digest);
    result.artifacts = {
        {"final-mean", path, sha256_hex(digest), static_cast<std::int64_t>(digest.size())}};
    store.end_attempt(attempt, result);
  }
  std::string folder() const { return temp.store(); }
  ScratchFolder temp;
};

TEST_CASE("three stores with shared runs give equal stores in every order of merging") {
  const std::uint64_t count = asked_number("ACID_SEQUENCES", 3);
  for (std::uint64_t seed = first_seed(); seed < first_seed() + count; ++seed) {
    INFO("ACID_SEQUENCES=1 ACID_SEQUENCES_SEED=" << seed);
    ThreeStores three(seed);
    three.go_on(12);
    std::array<std::size_t, 3> order{0, 1, 2};
    const std::string digest = merged_digest({three.folder(0), three.folder(1), three.folder(2)});
    do {
      const std::vector<std::string> folders{three.folder(order[0]), three.folder(order[1]),
                                             three.folder(order[2])};
      CHECK(merged_digest(folders) == digest);
      // The last two are merged first, and all at once.
      const ScratchFolder temp, both;
      {
        Store target(both.store(), Store::Access::write);
        merge(target, {folders[1], folders[2]});
      }
      CHECK(merged_digest({folders[0], both.store(), folders[1]}) == digest);
    } while (std::ranges::next_permutation(order).found);
    for (std::size_t s = 0; s < 3; ++s) CHECK(unsound(three.stores[s]) == "");
  }
}

TEST_CASE("runs, merges, removals and tags in any order leave stores consistent") {
  const std::uint64_t count = asked_number("ACID_SEQUENCES", 8);
  for (std::uint64_t seed = first_seed(); seed < first_seed() + count; ++seed) {
    INFO("ACID_SEQUENCES=1 ACID_SEQUENCES_SEED=" << seed);
    ThreeStores three(seed);
    for (int step = 0; step < 25; ++step) {
      Histories& random = three.histories;
      const std::size_t at = random.below(3);
      Store& store = three.stores[at];
      const std::size_t what = random.below(10);
      if (what < 2) random.ask(store);
      if (what >= 2 && what < 5) random.execute(store);
      if (what == 5) random.tag(store);
      if (what == 6) random.remove(store);
      if (what >= 7 && what < 9) {
        merge(store, {three.folder((at + 1) % 3)});
        const std::string digest = contents_digest(store);
        const MergeReport again = merge(store, {three.folder((at + 1) % 3)});
        CHECK(again.runs_added + again.runs_completed + again.experiments_added +
                  again.experiments_renewed + again.files ==
              0);
        CHECK(contents_digest(store) == digest);
      }
      if (what == 9) {
        const std::string digest = contents_digest(store);
        collect_garbage(store, find_garbage(store, false));
        CHECK(contents_digest(store) == digest);
      }
      INFO("step " << step << ", what " << what);
      REQUIRE(unsound(store) == "");
    }
  }
}

TEST_CASE("a run that only the other store has comes with all that it left, verified as it was") {
  ScratchFolder temp;
  Store target(temp.store(), Store::Access::write);
  const RunRecord run = make_run(1);
  target.add_experiment(make_experiment("mine"), {make_run(2), run});
  Store other = make_store(temp.path() + "/other", {run});
  {
    Execution first(other, run.id, 0, {}, dead_lease(1));
    first.work_to("one", 3);
    first.work(2);
    first.end(RunState::interrupted);
    Execution second(other, run.id, 3, continuation(other, run.id), dead_lease(2));
    second.work_to("two", 4);
    second.end(RunState::finished);
  }
  other.add_verification(run.id, verified("all"));
  const MergeReport report = merge(target, {other.folder()});
  CHECK(report.runs_completed == 1);
  CHECK(report.files == 3);
  CHECK(report.twice.empty());
  CHECK(shown(target, run.id) == shown(other, run.id));
  RunDetail detail = run_detail(target, run.id);
  look_at_files(target, detail);
  REQUIRE(detail.verifications.size() == 1);
  CHECK(detail.verifications[0].altered == "");
  CHECK(detail.attempts.at(1).resumed_from == 1);
  CHECK(unsound(target) == "");
  // What is changed afterwards is found as before.
  execute(target, "UPDATE points SET value = value + 1");
  CHECK(run_detail(target, run.id).verifications[0].altered != "");
}

TEST_CASE("a run that was executed twice keeps both executions, and the earlier one counts") {
  const RunRecord run = make_run(1);
  const Executed a(run, "equal", 1, dead_lease(1));
  for (const bool equal : {true, false}) {
    INFO(equal);
    const Executed b(run, equal ? "equal" : "other", 2, dead_lease(2));
    for (const bool swapped : {false, true}) {
      const ScratchFolder temp;
      Store target(temp.store(), Store::Access::write);
      merge(target, {swapped ? b.folder() : a.folder()});
      const MergeReport report = merge(target, {swapped ? a.folder() : b.folder()});
      REQUIRE(report.twice.size() == 1);
      CHECK(report.twice[0].run == run.id);
      CHECK(report.twice[0].equal == equal);
      CHECK(report.twice[0].came == swapped);
      const RunDetail detail = run_detail(target, run.id);
      CHECK(detail.attempts.size() == 2);
      CHECK(detail.result->mean_digest == sha256_hex("equal"));
      CHECK(detail.summary.metrics.at("train_loss") == 1);
      // Both results can be read.
      CHECK(number(target, "SELECT count(*) FROM result_list") == 2);
      CHECK(number(target, "SELECT count(*) FROM result_list WHERE mean_digest = '" +
                               sha256_hex("other") + "'") == (equal ? 0 : 1));
      if (!equal) CHECK(number(target, "SELECT count(*) FROM points WHERE value = 2") == 1);
      CHECK(unsound(target) == "");
    }
  }
}

TEST_CASE("a record that was altered does not count beside the one as it was written") {
  const RunRecord run = make_run(1);
  const Executed a(run, "mean", 1, dead_lease(1));
  const ScratchFolder temp;
  const std::string copy = temp.path() + "/copy";
  fs::copy(a.folder(), copy, fs::copy_options::recursive);
  raw_connection(copy).execute("UPDATE points SET value = 7; UPDATE series SET last = 7, best = 7");
  for (const bool swapped : {false, true}) {
    const std::string folder = temp.path() + (swapped ? "/1" : "/2");
    Store target(folder, Store::Access::write);
    const MergeReport report =
        merge(target, {swapped ? copy : a.folder(), swapped ? a.folder() : copy});
    REQUIRE(report.twice.size() == 1);
    CHECK_FALSE(report.twice[0].equal);
    CHECK_THAT(report.twice[0].what, ContainsSubstring("has other values"));
    CHECK(run_summaries(target, {run.id})[0].metrics.at("train_loss") == 1);
    CHECK(unsound(target) == "");
  }
  // Alone it comes as it is, and stays altered.
  Store alone(temp.path() + "/alone", Store::Access::write);
  merge(alone, {copy});
  CHECK_THAT(unsound(alone), ContainsSubstring("its values is not as it was written"));
}

TEST_CASE("a damaged or missing file, a living process and the store itself are refused") {
  const RunRecord run = make_run(1);
  const ScratchFolder temp;
  Store target(temp.store(), Store::Access::write);
  target.add_experiment(make_experiment("mine"), {make_run(2)});
  const std::string digest = contents_digest(target);
  const auto refused = [&](const std::string& folder, const std::string& says) {
    INFO(says);
    try {
      merge(target, {folder});
      FAIL("merged");
    } catch (const Error& error) {
      CHECK_THAT(error.what(), ContainsSubstring(says));
    }
    CHECK(contents_digest(target) == digest);
    CHECK(unsound(target) == "");
    CHECK(list_checkpoint_folder(target.folder()).empty());
  };
  const Executed damaged(run, "mean", 1, dead_lease(1));
  const std::string path = path_of(run.id, "1-final-mean.safetensors");
  write_file(damaged.folder(), path, "MEAN");
  refused(damaged.folder(), damaged.folder() + "/" + path + " is damaged");
  fs::remove(damaged.folder() + "/" + path);
  refused(damaged.folder(), damaged.folder() + "/" + path + " is missing");
  refused(temp.store(), "is the store into which others are to be merged");
  refused(temp.path() + "/nowhere", "there is no store");
  Store live = make_store(temp.path() + "/live", {run});
  begin(live, run.id);
  refused(live.folder(), "executes run " + run.id);
  begin(target, make_run(2).id);
  const Executed sound(run, "mean", 1, dead_lease(1));
  CHECK_THROWS_WITH(merge(target, {sound.folder()}), ContainsSubstring("executes run"));
}

TEST_CASE("runs of an older definition that the newer one lacks are told") {
  const ScratchFolder temp;
  Store old = make_store(temp.path() + "/old", {make_run(1), make_run(2)});
  execute(old, "UPDATE experiments SET created = '2020-01-01T00:00:00.000Z'");
  Store target = make_store(temp.store(), {make_run(2), make_run(3)});
  const auto told = merge(target, {old.folder()}).apart;
  REQUIRE(told.size() == 1);
  CHECK_THAT(told[0], ContainsSubstring(make_experiment("test").id + " has other runs in") &&
                          ContainsSubstring("1 run of the older one is no longer in it"));
  Store more = make_store(temp.path() + "/more", {make_run(2), make_run(3), make_run(4)});
  CHECK(merge(target, {more.folder()}).apart.empty());
}

TEST_CASE("the newest experiment is the one that was asked for last, whatever was merged when") {
  const ScratchFolder temp;
  Store old = make_store(temp.path() + "/old", {make_run(1)});
  execute(old, "UPDATE experiments SET created = '2020-01-01T00:00:00.000Z'");
  Store target(temp.store(), Store::Access::write);
  target.add_experiment(make_experiment("newer"), {make_run(1), make_run(2)});
  merge(target, {old.folder()});
  const auto experiments = list_experiments(target);
  REQUIRE(experiments.size() == 2);
  CHECK(experiments[0].name == "newer");
  CHECK(resolve_named(target, {"@latest"}).experiments ==
        std::vector<std::string>{experiments[0].id});
  // And one that is asked for from now on is newer than all.
  target.add_experiment(make_experiment("test"), {make_run(1)});
  CHECK(list_experiments(target)[0].name == "test");
}

}  // namespace
}  // namespace acid
