// `acid run` with the real worker, and every command that reads its results.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "engine/base/digest.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using nlohmann::json;

namespace {

struct Study : acid::test::SmallStudy {
  std::map<std::string, json> digests() const {
    std::map<std::string, json> found;
    for (const json& run : runs()) found[run["id"]] = shown(run["id"])["digests"];
    return found;
  }
  std::size_t attempts() const {  // of all runs
    std::size_t count = 0;
    for (const json& run : runs()) count += shown(run["id"])["attempts"].size();
    return count;
  }
  /// The id of the run of an algorithm with seed 1.
  std::string id_of(const std::string& algorithm) const {
    for (const json& run : runs())
      if (run["algorithm"] == algorithm && run["seed"] == 1) return run["id"];
    FAIL("no run of " << algorithm);
    return {};
  }
  /// The lines of a run's exported points.
  std::vector<std::string> points(const std::string& id) const {
    std::istringstream csv(done({"export", id, "--format", "csv"}).out);
    std::vector<std::string> lines;
    for (std::string line; std::getline(csv, line);) lines.push_back(line);
    return lines;
  }
};

void check_shown(const Study& study) {
  const json run = study.shown(study.id_of("a2cid2"));
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
  for (const char* rate : {"nominal", "realised"})
    CHECK(run["topology"]["edges"][0].contains(rate));
  CHECK(run["realised"]["exchanges_per_gradient"].get<double>() > 0.5);
  CHECK(run["realised"]["exchanges_drawn"] == run["realised"]["exchanges_done"].get<int>() +
                                                  run["realised"]["exchanges_waiting"].get<int>());
  int gradients = 0;
  for (const json& each : run["worker_gradients"]) gradients += each.get<int>();
  CHECK(gradients >= 400);
  CHECK(gradients <= 404);
  CHECK_THAT(study.call({"show", "@latest"}).out, ContainsSubstring("digests (SHA-256)"));
}

void check_exported(const Study& study) {
  const std::string id = study.id_of("ad-psgd");
  const auto csv = study.call({"export", id, "--format", "csv"});
  CHECK(csv.err.empty());
  const std::vector<std::string> points = study.points(id);
  CHECK(points.at(0) == "run,metric,worker,gradients,normalised_time,seconds,bytes,value");
  for (std::size_t k = 1; k < points.size(); ++k) {
    CHECK(std::ranges::count(points[k], ',') == 7);
    CHECK(points[k].starts_with(id + ","));
  }
  std::size_t same = 0;
  const json document = study.done({"export", id, "--format", "json"}).json();
  for (const json& series : document["runs"][0]["series"]) same += series["value"].size();
  CHECK(same > 0);
  CHECK(points.size() == 1 + same);
  CHECK(study.call({"export", id, "-o", "points.csv"}).out.empty());
  CHECK(study.read("points.csv") == csv.out);

  const json artifacts = study.shown(study.id_of("ar-sgd"))["artifacts"];
  if (artifacts.empty()) return;  // a task without a model leaves none
  const std::string path = "acid-store/" + artifacts[0]["path"].get<std::string>();
  const std::vector<std::string> model{"export", study.id_of("ar-sgd"), "--format", "safetensors",
                                       "-o"};
  const auto to = [&](const std::string& file) {
    std::vector<std::string> arguments = model;
    arguments.push_back(file);
    return study.call(arguments);
  };
  REQUIRE(to("model").code == 0);
  CHECK(study.read("model") == study.read(path));
  study.write(path, "damaged");
  check_refused(to("other"), {"SHA-256"}, 3);
  CHECK_FALSE(study.has("other"));
}

void check_compared(const Study& study) {
  CHECK(study.told({"compare", "@latest"})["groups"].size() == 3);
  CHECK_THAT(study.call({"compare", "small", "--csv"}).out, ContainsSubstring(","));
  CHECK(study.call({"report", "--html"}).out == "acid-report.html\n");
  const std::string page = study.read("acid-report.html");
  CHECK_THAT(page, ContainsSubstring("</html>"));
  CHECK(study.call({"report", "-o", "-"}).out == page);
  const json early = study.told(
      {"compare", "small", "--at", "gradients=100", "--target", "consensus_distance=1e9"});
  for (const json& group : early["groups"]) {
    CHECK(group["metrics"]["gradients"]["mean"] <= 100);
    CHECK(group["metrics"]["gradients_to_target"]["n"] == group["n"]);
  }
  CHECK_THAT(study.call({"compare", "small", "--latex"}).out, ContainsSubstring("\\toprule"));
}

}  // namespace

// With emitted code, if this machine can run it, and with the interpreter.
TEST_CASE("methods that are listings end with the same digests on all processors") {
  std::string recipe = acid::test::kSmallRecipe;
  recipe = recipe.substr(0, recipe.find("[[algorithms]]")) + R"toml(
algorithms = ["mine", "gradient-tracking", "decent-adam", { kind = "diloco", steps = 5 }]
[[methods]]
name = "mine"
rate = 2.0
keep = { xt = "x" }
between = "mix(x, xt, 0.3)"
step = ["x = x - lr * u", "xt = xt - lr * sign(u) * sqrt(abs(u))"]
hear = "x = x - 0.5 * (mine(0) - theirs(0))"
)toml";
  const Study emitted, interpreted;
  for (const Study* study : {&emitted, &interpreted}) study->write("small.toml", recipe);
  emitted.done({"run", "small.toml"});
  interpreted.done({"run", "small.toml"}, {"ACID_KERNELS=baseline"});
  CHECK(emitted.digests().size() == 8);
  CHECK(emitted.digests() == interpreted.digests());
}

TEST_CASE("run executes a recipe's runs once, and every command reads what they left") {
  const Study study;
  const auto result = study.done({"run", "small.toml"});
  CHECK_THAT(result.out, ContainsSubstring("A²CiD²") || ContainsSubstring("a2cid2"));
  REQUIRE(study.runs().size() == 6);
  for (const json& run : study.runs()) {
    INFO(run.dump());
    CHECK(run["state"] == "finished");
    CHECK(run["driver"] == "virtual");
    CHECK(run["workers"] == 4);
    CHECK(run["topology"] == (run["algorithm"] == "ar-sgd" ? "any" : "ring"));
    CHECK((run["started"].is_string() && run["finished"].is_string()));
    CHECK(run["metrics"].contains("consensus_distance"));
  }
  const auto listed = [&](std::vector<std::string> options) {
    options.insert(options.begin(), "list");
    return study.told(options)["runs"].size();
  };
  CHECK(listed({"--algorithm", "a2cid2"}) == 2);
  CHECK(listed({"--state", "finished"}) == 6);
  CHECK(listed({"--state", "failed"}) == 0);
  CHECK(listed({"--where", "seed = 2 and workers = 4"}) == 3);
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"list", "--state", "finishd"},
        {"list", "--where", "no such thing"},
        {"compare", "nothing-like-it"},
        {"compare", "small", "--latex", "--json"},
        {"compare", "small", "--at", "noon"}})
    check_refused(study.call(wrong), {});
  check_shown(study);
  check_compared(study);

  const auto before = study.digests();
  const auto again = study.done({"run", "small.toml"});
  CHECK_THAT(again.err, ContainsSubstring("6 of 6 runs already finished"));
  CHECK(again.out == result.out);
  CHECK(study.attempts() == 6);
  study.done({"run", "small.toml", "--force", "--jobs", "2"});
  CHECK(study.digests() == before);
  CHECK(study.attempts() == 12);
  check_exported(study);
}

TEST_CASE("list --experiments says what each sweeps and how far it is") {
  const Study study;
  study.done({"run", "small.toml"});
  study.done({"run", "small.toml", "--set", "seeds=[1]", "--set",
              "sweep.optimizer.learning_rate=[0.05, 0.1]", "--set", "name=\"swept\""});
  const json listed = study.told({"list", "--experiments"})["experiments"];
  REQUIRE(listed.size() == 2);
  CHECK(listed[0]["name"] == "swept");
  CHECK(listed[0]["settings"] == 2);
  CHECK(listed[0]["runs"] == 6);
  CHECK(listed[0]["states"] == json{{"finished", 6}});
  CHECK(listed[0]["swept"] == json{{"optimizer.learning_rate", {0.05, 0.1}}});
  CHECK(listed[0]["overrides"].size() == 3);
  CHECK(listed[1]["name"] == "small");
  CHECK(listed[1]["seeds"] == json{1, 2});
  CHECK((listed[1]["swept"].empty() && listed[1]["overrides"].empty()));
  CHECK_THAT(study.call({"list", "--experiments"}).out,
             ContainsSubstring("6 finished") && ContainsSubstring("learning_rate (2)") &&
                 ContainsSubstring("seeds=[1] "));
  CHECK_THAT(study.call({"compare", "swept", "--latex", "--pivot"}).out,
             ContainsSubstring("Learning rate & "));
  CHECK_THAT(study.call({"compare", "swept", "--csv", "--pivot=algorithm:learning_rate"}).out,
             ContainsSubstring("algorithm,0.05,0.05 half_width"));
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"list", "--experiments", "--state", "finished"},
        {"compare", "swept", "--pivot=momentum:"},
        {"compare", "swept", "--pivot", "--json"}})
    check_refused(study.call(wrong), {});
}

TEST_CASE("CORRECTNESS 31: the linearly scaled rate peaks at B n/256 times the recipe's") {
  const Study study;
  study.write("scaled.toml", R"(
seeds = [1]
task.dataset = { kind = "logistic", dimension = 8, train = 2000, test = 100 }
task.batch_size = 48
optimizer.learning_rate = 0.03
optimizer.schedule = { warmup = 0.25, scale_with_workers = "linear" }
workers.count = 8
budget.gradients = 320
evaluation = { every_time = 1, consensus_every_time = 1 }
execution.virtual.slow_workers = { 3 = 4.0 }
algorithms = ["ar-sgd", "a2cid2"]
)");
  for (const char* driver : {"virtual", "threads"})
    study.done({"run", "scaled.toml", "--driver", driver, "--force"});
  REQUIRE(study.runs().size() == 4);
  for (const json& run : study.runs()) {
    double highest = 0;
    for (const std::string& line : study.points(run["id"]))
      if (line.find(",learning_rate,") != std::string::npos)
        highest = std::max(highest, std::stod(line.substr(line.rfind(',') + 1)));
    INFO(run.dump());
    CHECK(highest == Approx(0.03 * 48 * 8 / 256));
  }
}

TEST_CASE("the training loss of the mean and the workers' losses are in every command's words") {
  const Study study;
  study.done({"run", "small.toml", "--set", "evaluation.workers=always"});
  const json groups = study.told({"compare", "small"})["groups"];
  REQUIRE(groups.size() == 3);
  for (const json& group : groups)
    for (const char* metric : {"train_loss_at_mean", "worker_loss", "worker_loss_worst"}) {
      INFO(group["algorithm"] << ", " << metric);
      CHECK(group["metrics"][metric]["n"] == 2);
    }
  const json shown = study.shown(study.id_of("ad-psgd"))["metrics"];
  CHECK(shown["worker_loss_worst"] >= shown["worker_loss"]);
  CHECK(shown["train_loss_at_mean"] > shown["eval_loss"]);  // no worker's optimum is the mean's
  // There is a value at every evaluation: 0, 100, … 400 gradients.
  CHECK(std::ranges::count_if(study.points(study.id_of("a2cid2")), [](const std::string& line) {
          return line.find(",worker_loss,2,") != std::string::npos;
        }) == 5);
  CHECK_THAT(study.call({"report", "-o", "-"}).out, ContainsSubstring("Training loss of the mean"));
}

TEST_CASE("a diverging run does not stop the others, and the exit code is 1") {
  const Study study;
  study.write("small.toml", std::string(acid::test::kSmallRecipe) +
                                "[[algorithms]]\nkind = \"ar-sgd\"\nlabel = \"too fast\"\n"
                                "set = { \"optimizer.learning_rate\" = 1e30 }\n");
  const auto result = study.run();
  INFO(result.err);
  CHECK(result.code == 1);
  std::map<std::string, int> states;
  for (const json& run : study.runs()) ++states[run["state"]];
  CHECK(states == std::map<std::string, int>{{"finished", 6}, {"diverged", 2}});
}

TEST_CASE("runs that diverge have one number of gradients under every driver, and are proven") {
  std::vector<std::string> drivers{"virtual", "threads"};
  if (acid::test::there_is_mpi()) drivers.emplace_back("mpi");
  const acid::test::Folder folder;
  for (const std::string& driver : drivers) {
    folder.write("r.toml", R"(
task.dataset = { kind = "quadratic", dimension = 2000, noise = 0.5, heterogeneity = 1.0 }
optimizer.learning_rate = 4.0
workers.count = 3
budget.gradients = 2000
algorithms = [{ kind = "local-sgd", codec = { kind = "lattice", spacing = 0.01, bits = 8 } }]
execution.driver = ")" + driver +
                               "\"\n");
    CHECK(folder.call({"run", "r.toml"}).code == 1);
  }
  std::map<std::string, json> ends;
  for (const json& run : folder.runs()) {
    CHECK(run["state"] == "diverged");
    ends[run["driver"]] = run["progress"];
    const auto verified = folder.call({"verify", run["id"]});
    INFO(run["driver"] << verified.out << verified.err);
    CHECK(verified.code == 0);
  }
  REQUIRE(ends.size() == drivers.size());
  for (const auto& [driver, end] : ends) {
    INFO(driver << end);
    CHECK(end["gradients"] == ends["virtual"]["gradients"]);
  }
}
