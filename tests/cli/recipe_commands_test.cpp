// `acid plan`, and `acid run` up to the point where a worker would start.
#include <cmath>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;

TEST_CASE("plan --json lists every run with the keys that scripts rely on") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto result = acid::test::acid(folder, {"plan", "small.toml", "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const auto plan = result.json();
  REQUIRE(plan["runs"].size() == 6);
  std::set<std::string> digests;
  for (const auto& run : plan["runs"]) {
    for (const char* key : {"id", "algorithm", "seed", "digest", "group", "settings",
                            "budget_gradients", "chi1", "chi2", "eta", "alpha_tilde"})
      CHECK(run.contains(key));
    CHECK(run["digest"].get<std::string>().rfind(run["id"].get<std::string>(), 0) == 0);
    CHECK(run["budget_gradients"] == 400);
    digests.insert(run["digest"]);
  }
  CHECK(digests.size() == 6);
  CHECK_FALSE(folder.has("acid-store"));
}

TEST_CASE("plan says how many seeds a verdict takes, and warns where there are fewer") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto with_seeds = [&](const std::string& seeds, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"plan", "small.toml", "--set", "seeds=" + seeds, "--set",
                               "sweep={ workers.count = [4, 6, 8, 10] }"});
    return acid::test::acid(folder, more);
  };
  const auto few = with_seeds("1-6", {"--json"});
  INFO(few.err);
  REQUIRE(few.code == 0);
  const auto verdict = few.json()["verdict"];
  const int fewest = verdict["comparisons_at_least"], needed = verdict["seeds_needed"],
            all = verdict["seeds_needed_for_all"];
  CHECK(verdict["settings"] == 4);
  CHECK(verdict["seeds"] == 6);
  CHECK(verdict["primary"] == "eval_loss");
  CHECK(verdict["at_ends"] == 8);
  CHECK(verdict["comparisons"] ==
        8);  // all end at one second, and samples are too far apart for equal bytes
  const auto finer = with_seeds("1-6", {"--json", "--set", "evaluation.every_gradients=8"});
  CHECK(finer.json()["verdict"]["comparisons_at_least"] == 16);
  CHECK(finer.json()["verdict"]["equal"] == nlohmann::json{"bytes"});
  CHECK(std::exp2(1 - needed) * fewest <= 0.05);
  CHECK(std::exp2(2 - needed) * fewest > 0.05);
  CHECK(verdict["effect_shown"].is_null());
  CHECK_THAT(few.err, ContainsSubstring("warning: 6 seeds, but " + std::to_string(needed)) &&
                          ContainsSubstring("write seeds = \"1-" + std::to_string(all)));
  const auto enough = with_seeds("1-" + std::to_string(all));
  CHECK_THAT(enough.err, !ContainsSubstring("are needed"));
  CHECK_THAT(enough.out, ContainsSubstring("takes " + std::to_string(needed) + " seeds") &&
                             ContainsSubstring("4 of 5 studies"));
  const auto own =
      with_seeds("1-6", {"--json", "--set",
                         "methods=[{ name = \"mine\", rate = 1.0, step = \"x = x - lr * u\", "
                         "hear = \"x = x - 0.5 * (mine(0) - theirs(0))\" }]",
                         "--set", "algorithms=[{ kind = \"ar-sgd\" }, { kind = \"mine\" }]"});
  INFO(own.err);
  REQUIRE(own.code == 0);
  CHECK(own.json()["verdict"]["at_ends"] == 4);
  const auto single = acid::test::acid(
      folder, {"plan", "small.toml", "--json", "--set", "algorithms=[\"ar-sgd\"]"});
  CHECK(single.json()["verdict"].is_null());
  CHECK_THAT(single.err, !ContainsSubstring("are needed"));
}

TEST_CASE("plan says what is known of a graph that changes, once") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto plan =
      acid::test::acid(folder, {"plan", "small.toml", "--set", "topology.kind=one-peer-exponential",
                                "--set", "algorithms=[{ kind = \"d-psgd\" }, { kind = \"sgp\" }]"});
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  const auto at = plan.out.find("directed true, kind one-peer-exponential changes:");
  REQUIRE(at != std::string::npos);
  CHECK(plan.out.find("changes:", at + 60) == std::string::npos);
  CHECK_THAT(plan.out, ContainsSubstring("after a period"));
  CHECK_THAT(plan.out, ContainsSubstring(
                           "share of the workers' differences that is left after one exchange"));
}

TEST_CASE("the tables of docs/RECIPE.md are what acid explain prints") {
  const Folder folder;
  const auto page = acid::test::acid(folder, {"explain", "--markdown"});
  REQUIRE(page.code == 0);
  INFO("acid explain --markdown > docs/RECIPE.md");
  std::ifstream file(SOURCE_ROOT "/docs/RECIPE.md");
  const std::string kept{std::istreambuf_iterator<char>(file), {}};
  CHECK(kept.ends_with("\n" + page.out));
}

TEST_CASE("explain tells of tables, keys and kinds, and what was probably meant") {
  const Folder folder;
  const auto told = [&](const std::string& key) {
    return acid::test::acid(folder, {"explain", key}).out;
  };
  CHECK_THAT(acid::test::acid(folder, {"explain"}).out, ContainsSubstring("[optimizer.schedule]"));
  CHECK_THAT(told("optimizer"), ContainsSubstring("kind = \"adamw\"") &&
                                    ContainsSubstring("Tables in it: optimizer.schedule"));
  CHECK_THAT(told("warmup"),
             StartsWith("optimizer.schedule.warmup\n") && ContainsSubstring("default  0.0\n"));
  CHECK_THAT(told("schedule.warmup"), StartsWith("optimizer.schedule.warmup\n"));
  CHECK_THAT(told("label"), StartsWith("algorithms.label\n"));
  CHECK_THAT(told("dirichlet"), ContainsSubstring("alpha"));
  CHECK_THAT(told("a2cid2"), ContainsSubstring("default: 0.5 / sqrt(chi1 * chi2)"));
  CHECK_THAT(told("ad-psgd"), ContainsSubstring("communication_rate  expected exchanges"));
  const std::string weights = told("weights");  // of many methods, alike
  CHECK_THAT(weights,
             StartsWith("algorithms.weights (kind = \"") && ContainsSubstring("\"extra\""));
  CHECK(weights.find("meaning", weights.find("meaning") + 1) == std::string::npos);
  const auto wrong = acid::test::acid(folder, {"explain", "learning_rte"});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, ContainsSubstring("did you mean 'learning_rate'?"));
  CHECK(acid::test::acid(folder, {"explain", "--json"}).json()["tables"].size() > 20);
}

TEST_CASE("methods explains its notation and keeps columns apart") {
  const Folder folder;
  const auto told = [&](const std::string& method) {
    return acid::test::acid(folder, {"methods", method}).out;
  };
  const std::string extra = told("extra");
  CHECK_THAT(extra, ContainsSubstring("  notation     x: a worker's parameters\n"
                                      "               W: the mixing"));
  CHECK_THAT(extra, ContainsSubstring("lr: the learning rate") &&
                        ContainsSubstring("x+: the next") &&
                        ContainsSubstring("x-: the one before"));
  CHECK_THAT(told("local-sgd"), !ContainsSubstring("the mixing matrix:"));
  CHECK_THAT(told("d-psgd"), ContainsSubstring("\"combine-while-adapt\"  "));
  CHECK_THAT(
      told("async-diloco"),
      ContainsSubstring("(max(1, steps * where(dylu, speed, 1))) * (gradient step) say hear"));
  CHECK_THAT(told("a2cid2"), ContainsSubstring("0.5 / sqrt(chi1 * chi2)  "));
}

TEST_CASE("new writes a recipe that compiles, and writes over nothing unasked") {
  const Folder folder;
  const auto written = acid::test::acid(folder, {"new", "mine.toml", "--template", "network"});
  INFO(written.err);
  REQUIRE(written.code == 0);
  CHECK(acid::test::acid(folder, {"plan", "mine.toml"}).code == 0);
  folder.write("mine.toml", "mine");
  const auto refused = acid::test::acid(folder, {"new", "mine.toml"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--force"));
  CHECK(folder.read("mine.toml") == "mine");
  CHECK(acid::test::acid(folder, {"new", "mine.toml", "--force"}).code == 0);
  CHECK_THAT(folder.read("mine.toml"), ContainsSubstring("name = \"first\""));
  CHECK_THAT(acid::test::acid(folder, {"new", "--template", "netwrk"}).err,
             ContainsSubstring("did you mean 'network'?"));
}

TEST_CASE("plan has the same runs as text, CSV and Markdown") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto id = acid::test::acid(folder, {"plan", "small.toml", "--json"})
                      .json()["runs"][5]["id"]
                      .get<std::string>();
  CHECK_THAT(acid::test::acid(folder, {"plan", "small.toml"}).out, ContainsSubstring(id));
  const auto csv = acid::test::acid(folder, {"plan", "small.toml", "--csv"}).out;
  CHECK_THAT(csv, StartsWith("id,algorithm,seed,workers,topology,chi1"));
  CHECK_THAT(csv, ContainsSubstring("\n" + id + ","));
  const auto markdown = acid::test::acid(folder, {"plan", "small.toml", "--markdown"}).out;
  CHECK_THAT(markdown, StartsWith("| id |"));
  CHECK_THAT(markdown, ContainsSubstring("\n| " + id + " |"));
}

TEST_CASE("the option --set and --driver change the plan and its digests") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto plain = acid::test::acid(folder, {"plan", "small.toml", "--json"}).json();
  const auto changed =
      acid::test::acid(folder, {"plan", "small.toml", "--json", "--set",
                                "optimizer.learning_rate=0.1", "--driver", "threads"});
  INFO(changed.err);
  REQUIRE(changed.code == 0);
  const auto settings = changed.json()["runs"][0]["settings"];
  CHECK(settings["optimizer"]["learning_rate"] == 0.1);
  CHECK(settings["execution"]["driver"] == "threads");
  CHECK(changed.json()["runs"][0]["digest"] != plain["runs"][0]["digest"]);
}

TEST_CASE("a broken recipe exits with 2, shows where, and leaves no store behind") {
  const Folder folder;
  folder.write("broken.toml", std::string(acid::test::kSmallRecipe) + "\n[optimzer]\nkind = 1\n");
  for (const char* command : {"plan", "run"}) {
    const auto result = acid::test::acid(folder, {command, "broken.toml"});
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring("broken.toml:"));
    CHECK_THAT(result.err, ContainsSubstring("optimizer"));
    CHECK_FALSE(folder.has("acid-store"));
  }
}

TEST_CASE("a recipe that is not there exits with 2 and names the file") {
  const Folder folder;
  for (const char* command : {"plan", "run"}) {
    const auto result = acid::test::acid(folder, {command, "nowhere.toml"});
    CHECK(result.code == 2);
    CHECK_THAT(result.err, ContainsSubstring("nowhere.toml"));
    CHECK_FALSE(folder.has("acid-store"));
  }
}

TEST_CASE("an override of an unknown key exits with 2") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto result =
      acid::test::acid(folder, {"plan", "small.toml", "--set", "optimizer.learning_rat=1"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err, ContainsSubstring("learning_rate"));
}

TEST_CASE("without acid-worker, run says so before it writes anything") {
  const Folder folder;
  folder.write("small.toml", acid::test::kSmallRecipe);
  const auto result =
      acid::test::acid(folder, {"run", "small.toml"}, {"ACID_WORKER=/nowhere/acid-worker"});
  CHECK(result.code == 1);
  CHECK_THAT(result.err, ContainsSubstring("ACID_WORKER"));
  CHECK_FALSE(folder.has("acid-store"));
}
