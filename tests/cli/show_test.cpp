// `acid show` on checkpoints, attempts that continued from them, and verifications.
#include "tests/cli/stored_run.hpp"

using acid::RunState;
using acid::test::StoredRun;

TEST_CASE("show lists the checkpoints of a run, with those whose file was let go of") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {100, 200, 300});
  const auto checkpoints = bench.told({"show", bench.id})["checkpoints"];
  REQUIRE(checkpoints.size() == 3);
  CHECK(checkpoints[0]["removed"] == true);
  CHECK(checkpoints[2]["removed"] == false);
  for (const auto& [key, value] : std::map<std::string, nlohmann::json>{{"number", 3},
                                                                        {"attempt", 1},
                                                                        {"step", 300},
                                                                        {"gradients", 300},
                                                                        {"normalised_time", 75.0},
                                                                        {"seconds", 0.5},
                                                                        {"bytes", 2'000'000}})
    CHECK(checkpoints[2][key] == value);
  CHECK(checkpoints[2]["path"] == "checkpoints/" + bench.id + "/300.safetensors");
  CHECK(checkpoints[2]["sha256"].get<std::string>().size() == 64);
  CHECK(checkpoints[2]["created"].is_string());

  const std::string text = bench.call({"show", bench.id}).out;
  CHECK_THAT(text, ContainsSubstring("gradient 100, time 25, file removed"));
  CHECK_THAT(text, ContainsSubstring("gradient 300, time 75, checkpoints/") &&
                       ContainsSubstring("(2 MB)"));
}

TEST_CASE("show --changed leaves out settings at their defaults and what is not there") {
  StoredRun bench;
  const std::string all = bench.call({"show", bench.id}).out;
  const std::string changed = bench.call({"show", bench.id, "--changed"}).out;
  for (const char* key : {"optimizer.momentum", "execution.max_restarts", "budget.target"}) {
    CHECK_THAT(all, ContainsSubstring(key));
    CHECK_THAT(changed, !ContainsSubstring(key));
  }
  for (const char* key : {"algorithm.kind", "budget.gradients", "workers.count"})
    CHECK_THAT(changed, ContainsSubstring(key));
}

TEST_CASE("show says from which checkpoint an attempt went on, and although what had changed") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {100, 200});
  bench.attempt(RunState::finished, {300}, bench.from(2, {{"program", {"acid 1", "acid 2"}}}));
  const auto attempts = bench.told({"show", bench.id})["attempts"];
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0]["resumed_from"].is_null());
  CHECK(attempts[0]["changed"] == nlohmann::json::object());
  CHECK(attempts[1]["resumed_from"] == 2);
  CHECK(attempts[1]["changed"]["program"] == nlohmann::json({"acid 1", "acid 2"}));

  const std::string text = bench.call({"show", bench.id}).out;
  CHECK_THAT(text, ContainsSubstring("from checkpoint 2, finished on "));
  CHECK_THAT(text, ContainsSubstring("although program changed: acid 1 → acid 2"));
}

TEST_CASE("show says whether a finished run was verified") {
  StoredRun bench;
  bench.attempt(RunState::interrupted, {100});
  CHECK_THAT(bench.call({"show", bench.id}).out, !ContainsSubstring("verif"));
  bench.attempt(RunState::finished, {}, bench.from(1));
  CHECK_THAT(bench.call({"show", bench.id}).out,
             ContainsSubstring("not verified; 'acid verify " + bench.id + "' does"));

  bench.store.add_verification(
      bench.id, {.equal = false, .message = "worker 2 differs", .from = {}, .environment = {}});
  CHECK_THAT(bench.call({"show", bench.id}).out,
             ContainsSubstring("verification FAILED: worker 2 differs"));

  bench.store.add_verification(bench.id, {.equal = true,
                                          .message = "9 cuts, bit for bit",
                                          .from = bench.from(1).checkpoint,
                                          .environment = {{"host", "h"}}});
  // A part that is equal does not compensate for another part.
  CHECK_THAT(bench.call({"show", bench.id}).out,
             ContainsSubstring("verification FAILED: worker 2 differs"));
  bench.store.add_verification(
      bench.id, {.equal = true, .message = "all of it", .from = {}, .environment = {}});
  CHECK_THAT(bench.call({"show", bench.id}).out,
             ContainsSubstring("verified 20") && ContainsSubstring(": all of it"));

  const auto listed = bench.told({"show", bench.id})["verifications"];
  REQUIRE(listed.size() == 3);
  CHECK(listed[0]["equal"] == false);
  CHECK(listed[0]["from"].is_null());
  CHECK(listed[1]["equal"] == true);
  CHECK(listed[1]["from"] == 1);
  CHECK(listed[1]["message"] == "9 cuts, bit for bit");
  CHECK_THAT(listed[1]["time"].get<std::string>(), Matches("20.*Z"));
  CHECK(listed[1].contains("host"));
}

TEST_CASE("list folds runs into a row per algorithm and setting, per algorithm, per experiment") {
  const acid::test::Folder bench;
  std::vector<acid::RunRecord> runs;
  for (std::uint64_t k = 0; k < 120; ++k) {
    acid::RunRecord run = acid::test::make_run(k, k % 2 == 0 ? "ad-psgd" : "a2cid2");
    const int workers = 4 + static_cast<int>(k / 40);
    run.settings["workers"] = {{"count", workers}};
    run.group = acid::sha256_hex(run.algorithm + std::to_string(workers));
    runs.push_back(run);
  }
  acid::Store store = acid::test::make_store(bench.path("acid-store"), runs);
  for (const std::size_t k : {std::size_t{0}, std::size_t{2}}) {
    const std::int64_t attempt = acid::test::begin(store, runs[k].id);
    acid::RunWriter writer(store.folder(), runs[k].id, attempt);
    const std::vector<acid::Value> values{{"eval_loss", acid::kWholeRun, k == 0 ? 0.5 : 0.25}};
    writer.sample({1000, 250, 1, 0}, values);
    writer.flush();
    store.end_attempt(attempt, acid::test::ended_as(RunState::finished));
  }
  const auto rows = [&](const std::vector<std::string>& arguments) {
    return acid::test::count_of("\n", bench.done(arguments).out);
  };
  CHECK(rows({"list"}) == 121);  // no terminal
  CHECK(rows({"list", "--runs"}) == 121);
  CHECK_THAT(bench.done({"list"}).out, !ContainsSubstring("setting"));  // n says it
  const std::string folded = bench.done({"list", "--fold"}).out;
  INFO(folded);
  CHECK(rows({"list", "--fold"}) == 8);
  CHECK_THAT(folded, ContainsSubstring("2 finished, 18 to do") && ContainsSubstring("workers 4 ") &&
                         ContainsSubstring("eval_loss 0.25 … 0.5") &&
                         ContainsSubstring("120 runs, a row per algorithm and setting; --runs"));
  CHECK_THAT(bench.done({"list", "--fold", "--state", "finished"}).out,
             ContainsSubstring("2 runs, a row per") && ContainsSubstring("last began (UTC)") &&
                 !ContainsSubstring("–"));
  CHECK(rows({"list", "--fold", "--csv"}) == 121);
  CHECK(bench.told({"list", "--fold"})["runs"].size() == 120);
  CHECK(bench.call({"list", "--fold", "--runs"}).code == 2);

  // Each in a setting of its own is more than a screen holds.
  for (acid::RunRecord& run : runs) run.group = run.digest;
  store.add_experiment(acid::test::make_experiment("test"), runs);
  CHECK_THAT(bench.done({"list", "--fold"}).out, ContainsSubstring("a row per algorithm;"));
  for (const acid::RunRecord& run : runs)
    store.add_experiment(acid::test::make_experiment("one " + run.id), {run});
  const std::string experiments = bench.done({"list", "--fold"}).out;
  CHECK_THAT(experiments, ContainsSubstring("a row per experiment;") &&
                              ContainsSubstring("84 older experiments"));
  CHECK(acid::test::count_of("\n", experiments) <= 40);
}

TEST_CASE("show and list take the name of an experiment, and show what it has") {
  const acid::test::ScriptedWorker bench("exit 1\n");
  acid::test::make_store(bench.path("acid-store"),
                         {acid::test::make_run(1), acid::test::make_run(2)});
  const auto shown = bench.call({"show", "test"}), listed = bench.call({"list", "test"});
  INFO(shown.err << listed.err);
  CHECK(shown.code == 0);
  CHECK_THAT(shown.err, ContainsSubstring("'test' is an experiment of 2 runs"));
  for (const int seed : {1, 2})
    CHECK_THAT(shown.out, ContainsSubstring(acid::test::make_run(seed).id));
  CHECK(bench.told({"show", "test"})["runs"].size() == 2);
  CHECK(listed.code == 0);
  CHECK(bench.told({"list", "test"})["runs"].size() == 2);
  CHECK(bench.told({"list", acid::test::make_run(2).id})["runs"].size() == 1);
  CHECK(bench.call({"list", "nothing-like-it"}).code == 2);
  CHECK_THAT(bench.call({"export", "test", "--format", "safetensors", "-o", "x"}).err,
             ContainsSubstring("'acid list "));
}

TEST_CASE("list says what a search tried in each run, among the runs of its experiment") {
  const acid::test::Folder bench;
  std::vector<acid::RunRecord> runs;
  for (std::uint64_t k = 0; k < 4; ++k) {
    acid::RunRecord run = acid::test::make_run(k);
    run.settings["optimizer"] = {{"learning_rate", k < 2 ? 0.1 : 0.5}};
    run.group = acid::sha256_hex(run.settings["optimizer"].dump());
    run.is_search = true;
    runs.push_back(run);
  }
  acid::Store store = acid::test::make_store(bench.path("acid-store"), runs);
  // Another experiment's value is no difference within either.
  acid::RunRecord alone = acid::test::make_run(7);
  alone.settings["optimizer"] = {{"learning_rate", 0.9}};
  alone.group = acid::sha256_hex("alone");
  store.add_experiment(acid::test::make_experiment("alone"), {alone});
  const std::string listed = bench.done({"list", "--csv"}).out;
  CHECK_THAT(listed, ContainsSubstring("topology,setting,driver"));
  CHECK(acid::test::count_of("ring,learning_rate 0.1,virtual", listed) == 2);
  CHECK(acid::test::count_of("ring,learning_rate 0.5,virtual", listed) == 2);
  CHECK(acid::test::count_of("ring,,virtual", listed) == 1);
  CHECK_THAT(bench.done({"show", "test"}).out, ContainsSubstring("learning_rate 0.5"));
  CHECK_THAT(bench.done({"list", "alone"}).out, !ContainsSubstring("setting"));
}
