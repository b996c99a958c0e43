// `acid plan`, and `acid run` up to the point where a worker would start.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "reports/text_table.hpp"
#include "tests/catch.hpp"
#include "tests/cli/stored_run.hpp"
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

TEST_CASE("plan says which runs a store has, and how long the rest takes as they show") {
  const SmallStudy folder;
  const auto nothing = folder.told({"plan", "small.toml"});
  CHECK(nothing["states"] == nlohmann::json{{"planned", 6}});
  CHECK(nothing["time"]["seconds_estimated"].is_null());
  CHECK(nothing["time"]["source"].is_null());
  CHECK(nothing["time"]["runs_unknown"] == 6);
  CHECK_THAT(folder.done({"plan", "small.toml"}).out,
             ContainsSubstring("How long it takes is not known: no finished run"));
  CHECK_FALSE(folder.has("acid-store"));

  folder.done({"run", "small.toml", "--set", "seeds=[1]"});
  const auto plan = folder.told({"plan", "small.toml"});
  CHECK(plan["states"] == nlohmann::json{{"finished", 3}, {"planned", 3}});
  for (const auto& run : plan["runs"])
    CHECK(run["state"] == (run["seed"] == 1 ? "finished" : "planned"));
  const auto time = plan["time"];
  CHECK(time["source"] == "runs");
  CHECK(time["from_runs"] == 3);
  CHECK((time["runs_to_do"] == 3 && time["runs_unknown"] == 0));
  CHECK((time["seconds_estimated"] > 0 && time["seconds_estimated"] < 60));
  // Three runs at a time end with the longest, and finished ones take no time.
  CHECK(folder.told({"plan", "small.toml", "--jobs", "3"})["time"]["seconds_estimated"] <
        time["seconds_estimated"]);
  CHECK_THAT(folder.done({"plan", "small.toml"}).out,
             ContainsSubstring("6 runs: 3 finished, 3 to do") &&
                 ContainsSubstring("on this machine, one run at a time, as 3"));
  CHECK_THAT(folder.done({"plan", "small.toml", "--csv"}).out, ContainsSubstring(",finished\n"));
  const auto done = folder.told({"plan", "small.toml", "--set", "seeds=[1]"})["time"];
  CHECK((done["runs_to_do"] == 0 && done["seconds_estimated"] == 0));
  // Runs of other settings show it as well, if they compute as much.
  const auto like = [&](const std::string& setting) {
    return folder.told({"plan", "small.toml", "--set", setting})["time"];
  };
  CHECK(like("optimizer.learning_rate=0.06")["source"] == "runs");
  CHECK(like("task.dataset.dimension=17")["source"].is_null());

  std::filesystem::create_directory(folder.path("broken"));
  folder.write("broken/store.db", "no database");
  const auto broken = folder.done({"plan", "small.toml", "--store", "broken"});
  CHECK_THAT(broken.err, ContainsSubstring("what has run already is not known: "));
}

TEST_CASE("a probe computes gradients where no run shows how long they take, or says why not") {
  const SmallStudy folder;
  const auto probed = folder.told({"plan", "small.toml", "--probe"})["time"];
  CHECK(probed["source"] == "probe");
  CHECK(probed["runs_unknown"] == 0);
  CHECK((probed["seconds_estimated"] > 0 && probed["seconds_estimated"] < 60));
  CHECK_FALSE(folder.has("acid-store"));
  const auto long_runs =
      folder.told({"plan", "small.toml", "--probe", "--set", "budget.gradients=4000000000"});
  CHECK(long_runs["time"]["seconds_estimated"] > 60);

  const std::string worker =
      folder.write_program("worker", "#!/bin/sh\necho 'no room' >&2\nexit 1\n");
  const auto failed = folder.done({"plan", "small.toml", "--probe"}, {"ACID_WORKER=" + worker});
  CHECK_THAT(failed.out, ContainsSubstring("not known: no room."));
  CHECK_THAT(
      folder
          .done({"plan", "small.toml", "--probe", "--set", "execution.virtual.gradient_clock=none",
                 "--set", "budget={normalised_time=10}", "--set", "algorithms=[\"ad-psgd\"]"})
          .out,
      ContainsSubstring("runs without gradients cannot be probed"));
  check_refused(folder.call({"plan", "small.toml", "--probe", "--no-probe"}), {"excludes"});
  check_refused(folder.call({"plan", "small.toml", "--jobs", "0"}), {"--jobs"});
}

TEST_CASE("plan shows where a run is going on and how far an interrupted one came") {
  const acid::test::ScriptedWorker folder("exit 1\n");
  const auto planned = folder.told({"plan", "one.toml", "--set", "seeds=[1,2]"});
  std::vector<acid::RunRecord> runs;
  for (const auto& each : planned["runs"]) {
    runs.push_back(acid::test::make_run(each["seed"]));
    runs.back().id = each["id"];
    runs.back().digest = each["digest"];
    runs.back().budget_gradients = 100;
  }
  acid::Store store = acid::test::make_store(folder.path("acid-store"), runs);
  const auto begin = [&](std::size_t run, const acid::Lease& lease, std::int64_t gradients) {
    const std::int64_t attempt = store.begin_attempt(runs[run].id, lease, {}, {}, {});
    acid::RunWriter writer(store.folder(), runs[run].id, attempt);
    writer.progress({gradients, 1, 1, 0});
    writer.flush();
  };
  begin(0, acid::test::lease_elsewhere(), 45);
  begin(1, acid::test::dead_lease(), 20);
  CHECK_THAT(folder.done({"plan", "one.toml", "--set", "seeds=[1,2]"}).out,
             ContainsSubstring("2 runs: 1 running, 1 interrupted; it runs on elsewhere") &&
                 ContainsSubstring("running on elsewhere at 45 %") &&
                 ContainsSubstring("interrupted at 20 %"));
  const auto told = folder.told({"plan", "one.toml"})["runs"][0];
  CHECK((told["state"] == "running" && told["host"] == "elsewhere" && told["fraction"] == 0.45));
}

TEST_CASE("a plan of hundreds of runs fits a screen, and --runs lists each") {
  const SmallStudy folder;
  folder.done({"run", "small.toml"});
  std::vector<std::string> many{"plan",  "small.toml",
                                "--set", "seeds=\"1-10\"",
                                "--set", "sweep={ workers.count=[4, 6, 8, 10, 12, 14, 16] }"};
  const auto lines_of = [](const std::string& text) {
    std::istringstream lines(text);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  };
  const std::string folded = folder.done(many).out;
  INFO(folded);
  CHECK(lines_of(folded).size() <= 40);
  for (const std::string& line : lines_of(folded)) CHECK(acid::terminal_columns(line) <= 100);
  CHECK_THAT(folded, ContainsSubstring("\n  70  ar-sgd ") &&
                         ContainsSubstring("2 finished, 68 to do") && ContainsSubstring("1-10") &&
                         ContainsSubstring("4 … 16") &&
                         ContainsSubstring("One row per algorithm; --runs lists every run."));
  CHECK(folder.told(many)["runs"].size() == 210);
  // The smallest usual terminal has 80 columns and 24 lines; two are the time's, and one the
  // prompt's.
  std::string program = "#!/bin/sh\nstty cols 80 rows 24\nexec " BINARY_ROOT "/acid";
  for (const std::string& word : many) program += " '" + word + "'";
  const std::string narrow = folder.write_program("narrow", program + " --no-probe\n");
  REQUIRE(std::system(("cd " + folder.path() + " && script -qefc " + narrow +
                       " /dev/null </dev/null >screen")
                          .c_str()) == 0);
  const std::string screen = folder.read("screen");
  INFO(screen);
  CHECK(lines_of(screen).size() <= 23);
  for (const std::string& line : lines_of(screen)) CHECK(acid::terminal_columns(line) <= 81);
  CHECK_THAT(screen,
             ContainsSubstring("The verdict is by") && ContainsSubstring("--runs lists every run"));
  many.emplace_back("--runs");
  CHECK(lines_of(folder.done(many).out).size() > 210);
  // Fewer rows need no second fold.
  CHECK_THAT(folder.done({"plan", "small.toml", "--set", "seeds=\"1-15\""}).out,
             ContainsSubstring("\n  15  ar-sgd      1-15") &&
                 ContainsSubstring("2 finished, 13 to do") &&
                 ContainsSubstring("One row per algorithm and setting; "));
}

TEST_CASE("a plan of a halving search shows all rungs on the smallest screen") {
  const SmallStudy folder;
  folder.write("halved.toml", R"(
seeds = "1-5"
task.dataset = { kind = "quadratic", dimension = 8, noise = 0.1 }
workers.count = 8
budget.gradients = 40000
algorithms = ["ar-sgd", "d-psgd", "ad-psgd", "a2cid2"]
[search]
optimizer.learning_rate = { log = [0.001, 0.1], count = 16 }
halving = 2
seeds = [101, 102]
[sweep]
topology.kind = ["ring", "exponential"]
)");
  const std::string narrow =
      folder.write_program("narrow", "#!/bin/sh\nstty cols 80 rows 24\nexec " BINARY_ROOT
                                     "/acid plan halved.toml --no-probe 2>/dev/null\n");
  REQUIRE(std::system(("cd " + folder.path() + " && script -qefc " + narrow +
                       " /dev/null </dev/null >screen")
                          .c_str()) == 0);
  std::istringstream words(folder.read("screen"));
  std::string screen;
  for (std::string word; words >> word;) screen += word + " ";
  CHECK_THAT(screen,
             ContainsSubstring("4 rungs, the same for every algorithm; values: 16 with 1/8 of "
                               "the budget, 8 with 1/4 of the budget, 4 with 1/2 of the "
                               "budget, 2 with the whole budget"));
  CHECK_THAT(folder.done({"plan", "halved.toml", "--runs"}).out,
             ContainsSubstring("rung 4: 2 values with the whole budget"));
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
  // All end at one second, but rounds of 6 workers with two gradients more, and samples are too far
  // apart for equal bytes.
  CHECK(verdict["comparisons"] == 10);
  // They may end at different ones where exchanges cost some workers more time than others.
  const auto costly =
      with_seeds("1-6", {"--json", "--set", "execution.virtual.cost.exchange_seconds=0.1"});
  CHECK(costly.json()["verdict"]["comparisons"] > 10);
  const auto finer = with_seeds("1-6", {"--json", "--set", "evaluation.every_gradients=8"});
  CHECK(finer.json()["verdict"]["comparisons_at_least"] == 18);
  CHECK(finer.json()["verdict"]["equal"] == nlohmann::json{"gradients", "bytes"});
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

TEST_CASE("every printed listing can be pasted into a recipe under another name") {
  const Folder folder;
  for (const auto& method : folder.told({"methods"})["methods"]) {
    const std::string name = method["name"];
    INFO(name);
    std::string text = folder.done({"methods", name, "--toml"}).out;
    const std::string line = "name = \"" + name + "\"";
    REQUIRE(text.find(line) != std::string::npos);
    text.replace(text.find(line), line.size(), "name = \"copy\"");
    folder.write("copy.toml", text);
    CHECK_THAT(folder.done({"methods", "copy", "--recipe", "copy.toml"}).out,
               ContainsSubstring("copy"));
  }
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

TEST_CASE("new --paper writes the recipe that checks a paper's claims, and knows which papers") {
  const Folder folder;
  folder.done({"new", "--paper", "d-psgd"});
  CHECK_THAT(folder.done({"plan", "d-psgd.toml"}).out, ContainsSubstring("claim"));
  folder.write("mine.toml", "mine");
  check_refused(folder.call({"new", "mine.toml", "--paper", "sgp"}), {"--force"});
  check_refused(folder.call({"new", "--paper", "d-psdg"}), {"did you mean 'd-psgd'?"});
  check_refused(folder.call({"new", "--paper", "of nobody"}), {"known: ", "d-psgd", "diloco"});
  check_refused(folder.call({"new", "--paper", "sgp", "--template", "first"}), {"--template"});
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
