// `acid run` with the real worker, and every command that reads its results.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "engine/base/digest.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;

namespace {

struct SmallStudy : Folder {
  SmallStudy() { write("small.toml", acid::test::kSmallRecipe); }
  acid::test::Result call(const std::vector<std::string>& arguments) const {
    return acid::test::acid(*this, arguments);
  }
  acid::test::Result run(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"run", "small.toml"});
    return call(options);
  }
  nlohmann::json runs() const { return call({"list", "--json"}).json()["runs"]; }
  std::map<std::string, nlohmann::json> digests() const {
    std::map<std::string, nlohmann::json> found;
    for (const auto& run : runs())
      found[run["id"]] = call({"show", run["id"], "--json"}).json()["digests"];
    return found;
  }
};

// The id of the run of an algorithm with seed 1.
std::string id_of(const SmallStudy& study, const std::string& algorithm) {
  for (const auto& run : study.runs())
    if (run["algorithm"] == algorithm && run["seed"] == 1) return run["id"];
  FAIL("no run of " << algorithm);
  return {};
}

}  // namespace

// With emitted code, if this machine can run it, and with the interpreter.
TEST_CASE("methods that are listings end with the same digests on all processors") {
  std::string recipe = acid::test::kSmallRecipe;
  recipe = recipe.substr(0, recipe.find("[[algorithms]]")) + R"toml(
[[methods]]
name = "mine"
rate = 2.0
keep = { xt = "x" }
between = "mix(x, xt, 0.3)"
step = ["x = x - lr * u", "xt = xt - lr * sign(u) * sqrt(abs(u))"]
hear = "x = x - 0.5 * (mine(0) - theirs(0))"
[[algorithms]]
kind = "mine"
[[algorithms]]
kind = "gradient-tracking"
[[algorithms]]
kind = "decent-adam"
[[algorithms]]
kind = "diloco"
steps = 5
)toml";
  const SmallStudy studies[2];
  for (int baseline = 0; baseline < 2; ++baseline) {
    studies[baseline].write("small.toml", recipe);
    std::vector<std::string> environment;
    if (baseline == 1) environment.push_back("ACID_KERNELS=baseline");
    const auto result = acid::test::acid(studies[baseline], {"run", "small.toml"}, environment);
    INFO(result.err);
    REQUIRE(result.code == 0);
  }
  const auto digests = studies[0].digests();
  CHECK(digests.size() == 8);
  CHECK(digests == studies[1].digests());
}

TEST_CASE("run executes every run of the recipe and prints the comparison") {
  const SmallStudy study;
  const auto result = study.run();
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("A²CiD²") || ContainsSubstring("a2cid2"));
  const auto runs = study.runs();
  REQUIRE(runs.size() == 6);
  for (const auto& run : runs) {
    INFO(run.dump());
    CHECK(run["state"] == "finished");
    CHECK(run["driver"] == "virtual");
    CHECK(run["workers"] == 4);
    CHECK(run["topology"] == (run["algorithm"] == "ar-sgd" ? "any" : "ring"));
    CHECK(run["started"].is_string());
    CHECK(run["finished"].is_string());
    CHECK(run["metrics"].contains("consensus_distance"));
  }

  SECTION("a second time it re-uses what has finished") {
    const auto before = study.digests();
    const auto again = study.run();
    CHECK(again.code == 0);
    CHECK_THAT(again.err, ContainsSubstring("6 of 6 runs already finished"));
    CHECK(again.out == result.out);
    for (const auto& run : study.runs())
      CHECK(study.call({"show", run["id"], "--json"}).json()["attempts"].size() == 1);
  }
  SECTION("--force runs everything again and ends with the same digests") {
    const auto before = study.digests();
    CHECK(study.run({"--force", "--jobs", "2"}).code == 0);
    CHECK(study.digests() == before);
    for (const auto& run : study.runs())
      CHECK(study.call({"show", run["id"], "--json"}).json()["attempts"].size() == 2);
  }
}

TEST_CASE("the threads driver runs the same recipe in wall-clock time") {
  const SmallStudy study;
  const auto result = study.run({"--driver", "threads"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  for (const auto& run : study.runs()) {
    CHECK(run["state"] == "finished");
    CHECK(run["driver"] == "threads");
    CHECK(run["progress"]["gradients"] >= 400);
  }
}

TEST_CASE("show --json has everything that scripts rely on") {
  const SmallStudy study;
  REQUIRE(study.run().code == 0);
  const auto run = study.call({"show", id_of(study, "a2cid2"), "--json"}).json();
  for (const char* key : {"schema_version",
                          "id",
                          "experiment",
                          "algorithm",
                          "seed",
                          "group",
                          "state",
                          "driver",
                          "workers",
                          "topology",
                          "started",
                          "finished",
                          "metrics",
                          "settings",
                          "seeds",
                          "environment",
                          "attempts",
                          "checkpoints",
                          "digests",
                          "realised",
                          "worker_gradients",
                          "worker_idle_seconds"})
    CHECK(run.contains(key));
  CHECK(run["digests"]["workers"].size() == 4);
  CHECK(run["digests"]["mean"].get<std::string>().size() == 64);
  CHECK(run["topology"]["edges"].size() == 4);
  CHECK(run["topology"]["edges"][0].contains("nominal"));
  CHECK(run["topology"]["edges"][0].contains("realised"));
  CHECK(run["realised"]["exchanges_per_gradient"].get<double>() > 0.5);
  CHECK(run["realised"]["exchanges_drawn"] == run["realised"]["exchanges_done"].get<int>() +
                                                  run["realised"]["exchanges_waiting"].get<int>());
  int gradients = 0;
  for (const auto& each : run["worker_gradients"]) gradients += each.get<int>();
  CHECK(gradients >= 400);
  CHECK(gradients <= 404);
  CHECK_THAT(study.call({"show", "@latest"}).out, ContainsSubstring("digests (SHA-256)"));
}

TEST_CASE("export writes every point as CSV that reads back, and the same numbers as JSON") {
  const SmallStudy study;
  REQUIRE(study.run().code == 0);
  const std::string id = id_of(study, "ad-psgd");
  const auto csv = study.call({"export", id, "--format", "csv"});
  REQUIRE(csv.code == 0);
  CHECK(csv.err.empty());
  CHECK_THAT(csv.out,
             StartsWith("run,metric,worker,gradients,normalised_time,seconds,bytes,value\n"));
  std::istringstream lines(csv.out);
  std::string line;
  std::getline(lines, line);
  std::size_t points = 0;
  while (std::getline(lines, line)) {
    ++points;
    CHECK(std::count(line.begin(), line.end(), ',') == 7);
    CHECK(line.rfind(id + ",", 0) == 0);
  }
  const auto document = study.call({"export", id, "--format", "json"}).json();
  std::size_t same = 0;
  for (const auto& series : document["runs"][0]["series"]) same += series["value"].size();
  CHECK(points > 0);
  CHECK(points == same);

  CHECK(study.call({"export", id, "-o", "points.csv"}).out.empty());
  CHECK(study.read("points.csv") == csv.out);
}

TEST_CASE("export copies the final model after checking its digest") {
  const SmallStudy study;
  REQUIRE(study.run().code == 0);
  const std::string id = id_of(study, "ar-sgd");
  const auto shown = study.call({"show", id, "--json"}).json();
  if (shown["artifacts"].empty()) return;  // a task without a model leaves none
  const std::string path = "acid-store/" + shown["artifacts"][0]["path"].get<std::string>();
  REQUIRE(study.call({"export", id, "--format", "safetensors", "-o", "model"}).code == 0);
  CHECK(study.read("model") == study.read(path));

  study.write(path, "damaged");
  const auto damaged = study.call({"export", id, "--format", "safetensors", "-o", "other"});
  CHECK(damaged.code == 3);
  CHECK_THAT(damaged.err, ContainsSubstring("SHA-256"));
  CHECK_FALSE(study.has("other"));
}

TEST_CASE("list filters by state, algorithm and condition") {
  const SmallStudy study;
  REQUIRE(study.run().code == 0);
  const auto count = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"list", "--json"});
    return study.call(options).json()["runs"].size();
  };
  CHECK(count({"--algorithm", "a2cid2"}) == 2);
  CHECK(count({"--state", "finished"}) == 6);
  CHECK(count({"--state", "failed"}) == 0);
  CHECK(count({"--where", "seed = 2 and workers = 4"}) == 3);
  CHECK(study.call({"list", "--state", "finishd"}).code == 2);
  CHECK(study.call({"list", "--where", "no such thing"}).code == 2);
}

TEST_CASE("list --experiments says what each sweeps and how far it is") {
  const SmallStudy study;
  REQUIRE(study.run().code == 0);
  REQUIRE(study
              .run({"--set", "seeds=[1]", "--set", "sweep.optimizer.learning_rate=[0.05, 0.1]",
                    "--set", "name=\"swept\""})
              .code == 0);
  const auto listed = study.call({"list", "--experiments", "--json"}).json()["experiments"];
  REQUIRE(listed.size() == 2);
  CHECK(listed[0]["name"] == "swept");
  CHECK(listed[0]["settings"] == 2);
  CHECK(listed[0]["runs"] == 6);
  CHECK(listed[0]["states"] == nlohmann::json{{"finished", 6}});
  CHECK(listed[0]["swept"] == nlohmann::json{{"optimizer.learning_rate", {0.05, 0.1}}});
  CHECK(listed[1]["name"] == "small");
  CHECK(listed[1]["seeds"] == nlohmann::json{1, 2});
  CHECK(listed[1]["swept"].empty());
  CHECK(listed[0]["overrides"].size() == 3);
  CHECK(listed[1]["overrides"].empty());
  CHECK_THAT(study.call({"list", "--experiments"}).out,
             ContainsSubstring("6 finished") && ContainsSubstring("learning_rate (2)") &&
                 ContainsSubstring("seeds=[1] "));
  CHECK(study.call({"list", "--experiments", "--state", "finished"}).code == 2);
  CHECK_THAT(study.call({"compare", "swept", "--latex", "--pivot"}).out,
             ContainsSubstring("Learning rate & "));
  CHECK_THAT(study.call({"compare", "swept", "--csv", "--pivot=algorithm:learning_rate"}).out,
             ContainsSubstring("algorithm,0.05,0.05 half_width"));
  CHECK(study.call({"compare", "swept", "--pivot=momentum:"}).code == 2);
  CHECK(study.call({"compare", "swept", "--pivot", "--json"}).code == 2);
}

TEST_CASE("compare and report read what run left") {
  const SmallStudy study;
  REQUIRE(study.run().code == 0);
  const auto comparison = study.call({"compare", "@latest", "--json"}).json();
  CHECK(comparison["groups"].size() == 3);
  CHECK_THAT(study.call({"compare", "small", "--csv"}).out, ContainsSubstring(","));
  const auto report = study.call({"report", "--html"});
  CHECK(report.out == "acid-report.html\n");
  const std::string page = study.read("acid-report.html");
  CHECK_THAT(page, ContainsSubstring("</html>"));
  CHECK(study.call({"report", "-o", "-"}).out == page);
  CHECK(study.call({"compare", "nothing-like-it"}).code == 2);
  const auto early = study
                         .call({"compare", "small", "--at", "gradients=100", "--target",
                                "consensus_distance=1e9", "--json"})
                         .json();
  for (const auto& group : early["groups"]) {
    CHECK(group["metrics"]["gradients"]["mean"] <= 100);
    CHECK(group["metrics"]["gradients_to_target"]["n"] == group["n"]);
  }
  CHECK_THAT(study.call({"compare", "small", "--latex"}).out, ContainsSubstring("\\toprule"));
  CHECK(study.call({"compare", "small", "--latex", "--json"}).code == 2);
  CHECK(study.call({"compare", "small", "--at", "noon"}).code == 2);
}

TEST_CASE("CORRECTNESS 31: the linearly scaled rate peaks at B n/256 times the recipe's") {
  const SmallStudy study;
  study.write("scaled.toml", R"(
name = "scaled"
seeds = [1]
[task]
dataset = { kind = "logistic", dimension = 8, train = 2000, test = 100 }
batch_size = 48
[optimizer]
learning_rate = 0.03
[optimizer.schedule]
warmup = 0.25
scale_with_workers = "linear"
[workers]
count = 8
[topology]
kind = "ring"
[budget]
gradients = 320
[evaluation]
every_time = 1
consensus_every_time = 1
[execution.virtual]
slow_workers = { 3 = 4.0 }
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "a2cid2"
communication_rate = 1.0
)");
  for (const char* driver : {"virtual", "threads"}) {
    const auto result = study.call({"run", "scaled.toml", "--driver", driver, "--force"});
    INFO(driver << ": " << result.err);
    REQUIRE(result.code == 0);
  }
  int runs = 0;
  for (const auto& run : study.runs()) {
    std::istringstream lines(study.call({"export", run["id"], "--format", "csv"}).out);
    double highest = 0;
    for (std::string line; std::getline(lines, line);)
      if (line.find(",learning_rate,") != std::string::npos)
        highest = std::max(highest, std::stod(line.substr(line.rfind(',') + 1)));
    INFO(run.dump());
    CHECK(highest == Approx(0.03 * 48 * 8 / 256));
    ++runs;
  }
  CHECK(runs == 4);
}

TEST_CASE("the training loss of the mean and the workers' losses are in every command's words") {
  const SmallStudy study;
  REQUIRE(study.run({"--set", "evaluation.workers=always"}).code == 0);
  const auto groups = study.call({"compare", "small", "--json"}).json()["groups"];
  REQUIRE(groups.size() == 3);
  for (const auto& group : groups)
    for (const char* metric : {"train_loss_at_mean", "worker_loss", "worker_loss_worst"}) {
      INFO(group["algorithm"] << ", " << metric);
      CHECK(group["metrics"][metric]["n"] == 2);
    }
  const auto shown = study.call({"show", id_of(study, "ad-psgd"), "--json"}).json()["metrics"];
  CHECK(shown["worker_loss_worst"] >= shown["worker_loss"]);
  CHECK(shown["train_loss_at_mean"] > shown["eval_loss"]);  // no worker's optimum is the mean's
  // There is a value at every evaluation: 0, 100, … 400 gradients.
  std::istringstream lines(study.call({"export", id_of(study, "a2cid2"), "--format", "csv"}).out);
  int of_worker_2 = 0;
  for (std::string line; std::getline(lines, line);)
    of_worker_2 += line.find(",worker_loss,2,") != std::string::npos ? 1 : 0;
  CHECK(of_worker_2 == 5);
  CHECK_THAT(study.call({"report", "-o", "-"}).out, ContainsSubstring("Training loss of the mean"));
}

TEST_CASE("a diverging run does not stop the others, and the exit code is 1") {
  const SmallStudy study;
  study.write("small.toml", std::string(acid::test::kSmallRecipe) + R"(
[[algorithms]]
kind = "ar-sgd"
label = "too fast"
set = { "optimizer.learning_rate" = 1e30 }
)");
  const auto result = study.run();
  INFO(result.err);
  CHECK(result.code == 1);
  std::map<std::string, int> states;
  for (const auto& run : study.runs()) ++states[run["state"]];
  CHECK(states["finished"] == 6);
  CHECK(states["diverged"] == 2);
}
