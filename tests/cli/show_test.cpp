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
