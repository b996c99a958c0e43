// `acid plan`, and `acid run` up to the point where a worker would start.
#include <cmath>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/kept_table.hpp"

using acid::test::Folder;
using acid::test::SmallStudy;

TEST_CASE("plan lists every run with the keys that scripts rely on, in every form") {
  const SmallStudy folder;
  const auto plan = folder.told({"plan", "small.toml"});
  REQUIRE(plan["runs"].size() == 6);
  std::set<std::string> digests;
  for (const auto& run : plan["runs"]) {
    for (const char* key : {"id", "algorithm", "seed", "digest", "group", "settings",
                            "budget_gradients", "chi1", "chi2", "eta", "alpha_tilde"})
      CHECK(run.contains(key));
    CHECK(run["digest"].get<std::string>().starts_with(run["id"].get<std::string>()));
    CHECK(run["budget_gradients"] == 400);
    digests.insert(run["digest"]);
  }
  CHECK(digests.size() == 6);
  const std::string id = plan["runs"][5]["id"];
  CHECK_THAT(folder.done({"plan", "small.toml"}).out, ContainsSubstring(id));
  CHECK_THAT(
      folder.done({"plan", "small.toml", "--csv"}).out,
      StartsWith("id,algorithm,seed,workers,topology,chi1") && ContainsSubstring("\n" + id + ","));
  CHECK_THAT(folder.done({"plan", "small.toml", "--markdown"}).out,
             StartsWith("| id |") && ContainsSubstring("\n| " + id + " |"));

  const auto changed = folder.told(
      {"plan", "small.toml", "--set", "optimizer.learning_rate=0.1", "--driver", "threads"});
  const auto settings = changed["runs"][0]["settings"];
  CHECK(settings["optimizer"]["learning_rate"] == 0.1);
  CHECK(settings["execution"]["driver"] == "threads");
  CHECK_FALSE(digests.contains(changed["runs"][0]["digest"]));
  CHECK_FALSE(folder.has("acid-store"));
}

TEST_CASE("plan says how many seeds a verdict takes, and warns where there are fewer") {
  const SmallStudy folder;
  const auto with_seeds = [&](const std::string& seeds, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"plan", "small.toml", "--set", "seeds=" + seeds, "--set",
                               "sweep={ workers.count = [4, 6, 8, 10] }"});
    return folder.done(more);
  };
  const auto few = with_seeds("1-6", {"--json"});
  const auto verdict = few.json()["verdict"];
  const int fewest = verdict["comparisons_at_least"], needed = verdict["seeds_needed"],
            all = verdict["seeds_needed_for_all"];
  CHECK(verdict["settings"] == 4);
  CHECK(verdict["seeds"] == 6);
  CHECK(verdict["primary"] == "eval_loss");
  CHECK(verdict["at_ends"] == 8);
  // All end at one second, and samples are too far apart for equal bytes.
  CHECK(verdict["comparisons"] == 8);
  // They may end at different ones where exchanges cost some workers more time than others.
  const auto costly =
      with_seeds("1-6", {"--json", "--set", "execution.virtual.cost.exchange_seconds=0.1"});
  CHECK(costly.json()["verdict"]["comparisons"] > 8);
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
  CHECK(own.json()["verdict"]["at_ends"] == 4);
  const auto single =
      folder.done({"plan", "small.toml", "--json", "--set", "algorithms=[\"ar-sgd\"]"});
  CHECK(single.json()["verdict"].is_null());
  CHECK_THAT(single.err, !ContainsSubstring("are needed"));
}

TEST_CASE("plan and show say beside bytes whose they are, if the model stands for a larger one") {
  const SmallStudy folder;
  const std::string large = "execution.virtual.network.vector_bytes=260 MB";
  CHECK_THAT(folder.done({"plan", "small.toml"}).out, !ContainsSubstring("vectors"));
  CHECK_THAT(folder.done({"plan", "small.toml", "--set", large}).out,
             ContainsSubstring("bytes as of 260 MB vectors"));
  CHECK_THAT(folder.done({"plan", "small.toml", "--csv", "--set", large}).out,
             ContainsSubstring("execution.virtual.network.vector_bytes") &&
                 ContainsSubstring(",260000000"));
  folder.done({"run", "small.toml", "--set", large});
  const std::string id = folder.told({"list"})["runs"][0]["id"];
  CHECK_THAT(folder.done({"show", id}).out, ContainsSubstring("B, as of 260 MB vectors"));
  CHECK_THAT(folder.done({"compare", "small"}).out,
             ContainsSubstring("bytes and seconds are as of 260 MB vectors"));
}

TEST_CASE("plan says what is known of a graph that changes, once") {
  const SmallStudy folder;
  const auto plan =
      folder.done({"plan", "small.toml", "--set", "topology.kind=one-peer-exponential", "--set",
                   "algorithms=[{ kind = \"d-psgd\" }, { kind = \"sgp\" }]"});
  const auto at = plan.out.find("directed true, kind one-peer-exponential changes:");
  REQUIRE(at != std::string::npos);
  CHECK(plan.out.find("changes:", at + 60) == std::string::npos);
  CHECK_THAT(
      plan.out,
      ContainsSubstring("after a period") &&
          ContainsSubstring("share of the workers' differences that is left after one exchange"));
}

TEST_CASE("the tables of docs/RECIPE.md are what acid explain prints") {
  acid::test::check_kept_table(SOURCE_ROOT "/docs/RECIPE.md",
                               Folder().done({"explain", "--markdown"}).out, "");
}

TEST_CASE("explain tells of tables, keys and kinds, and what was probably meant") {
  const Folder folder;
  const auto told = [&](const std::string& key) { return folder.done({"explain", key}).out; };
  CHECK_THAT(folder.done({"explain"}).out, ContainsSubstring("[optimizer.schedule]"));
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
  check_refused(folder.call({"explain", "learning_rte"}), {"did you mean 'learning_rate'?"});
  CHECK(folder.told({"explain"})["tables"].size() > 20);
}

TEST_CASE("methods explains its notation and keeps columns apart") {
  const Folder folder;
  const auto told = [&](const std::string& method) { return folder.done({"methods", method}).out; };
  CHECK_THAT(told("extra"), ContainsSubstring("  notation     x: a worker's parameters\n"
                                              "               W: the mixing") &&
                                ContainsSubstring("lr: the learning rate") &&
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
  folder.done({"new", "mine.toml", "--template", "network"});
  folder.done({"plan", "mine.toml"});
  folder.write("mine.toml", "mine");
  check_refused(folder.call({"new", "mine.toml"}), {"--force"});
  CHECK(folder.read("mine.toml") == "mine");
  folder.done({"new", "mine.toml", "--force"});
  CHECK_THAT(folder.read("mine.toml"), ContainsSubstring("name = \"first\""));
  check_refused(folder.call({"new", "--template", "netwrk"}), {"did you mean 'network'?"});
}

TEST_CASE("a recipe that is broken or not there, and a missing worker, leave no store behind") {
  const SmallStudy folder;
  folder.write("broken.toml", std::string(acid::test::kSmallRecipe) + "\n[optimzer]\nkind = 1\n");
  for (const char* command : {"plan", "run"}) {
    check_refused(folder.call({command, "broken.toml"}), {"broken.toml:", "optimizer"});
    check_refused(folder.call({command, "nowhere.toml"}), {"nowhere.toml"});
  }
  check_refused(folder.call({"plan", "small.toml", "--set", "optimizer.learning_rat=1"}),
                {"learning_rate"});
  check_refused(folder.call({"run", "small.toml"}, {"ACID_WORKER=/nowhere/acid-worker"}),
                {"ACID_WORKER"}, 1);
  CHECK_FALSE(folder.has("acid-store"));
}
