// Runs whose data files have been moved, or have changed, when they go on.
#include <filesystem>
#include <map>

#include "tests/cli/scripted_worker.hpp"

using Bench = acid::test::ScriptedWorker;

namespace {

// A run without end. The paths begin with `prefix`.
std::string recipe(const std::string& prefix) {
  return "seeds = [1]\ntask = { batch_size = 1, dataset = { kind = \"logistic\", path = \"" +
         prefix + "data.svm\" } }\nworkers.count = 2\ntopology = { kind = \"edges\", edges = \"" +
         prefix +
         "graph.txt\" }\nbudget.gradients = 1000000000\ncheckpoint.every_time = 1000\n"
         "algorithms = [\"ad-psgd\"]\n";
}

constexpr const char* kExamples = "+1 1:0.5 2:1\n-1 1:-0.5 2:0.25\n+1 2:2\n-1 1:1\n";
constexpr const char* kOthers = "+1 1:0.5 2:1\n-1 1:-0.5 2:0.25\n+1 2:2\n-1 1:7\n";

}  // namespace

TEST_CASE("a run whose data and graph were moved goes on where it was") {
  // The worker saves once, then is interrupted.
  const Bench bench(R"(
$REAL "$@" & p=$!
until ls acid-store/checkpoints/*/* > made 2>&1; do sleep 0.02; done
sleep 0.3; kill -TERM $p; wait $p; exit $?
)");
  const auto run = [&](const std::string& prefix) {
    bench.write("moved.toml", recipe(prefix));
    const auto result = bench.call({"run", "moved.toml"});
    INFO(result.err);
    CHECK(result.code == 130);
    return result.err;
  };
  bench.write("data.svm", kExamples);
  bench.write("graph.txt", "0 1\n");
  run("");
  std::filesystem::create_directory(bench.path("elsewhere"));
  for (const std::string file : {"data.svm", "graph.txt"})
    std::filesystem::rename(bench.path(file), bench.path("elsewhere/" + file));
  CHECK_THAT(run("elsewhere/"),
             ContainsSubstring("resuming from gradient") && !ContainsSubstring("plan_sha256"));
  REQUIRE(bench.runs().size() == 1);
  const auto attempts = bench.shown(bench.runs()[0]["id"])["attempts"];
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[1]["changed"].empty());
}

TEST_CASE("a file that changes while a sweep runs is refused by the runs that come after") {
  for (const std::string file : {"data.svm", "graph.txt"}) {
    const Bench bench("$REAL $ALONE; code=$?; cp new " + file + "; exit $code\n");
    INFO(file);
    bench.write("data.svm", kExamples);
    bench.write("graph.txt", "0 1\n");
    bench.write("new", file == "data.svm" ? kOthers : "0 1 2.5\n");
    std::string text = recipe("");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"[1]", "[1, 2, 3]"},
                                   {"gradients = 1000000000", "gradients = 40"}})
      text.replace(text.find(from), from.size(), to);
    bench.write("sweep.toml", text);
    const auto result = bench.call({"run", "sweep.toml", "--jobs", "1"});
    INFO(result.err);
    CHECK(result.code != 0);
    CHECK_THAT(result.err, ContainsSubstring(file + " has changed since the run was asked for") &&
                               ContainsSubstring("put the old file back"));
    const auto states = [&] {
      std::map<std::string, int> count;
      const auto listed = bench.told({"list"});
      for (const auto& run : listed["runs"]) ++count[run["state"].get<std::string>()];
      return count;
    };
    CHECK(states()["finished"] == 1);
    // With the original content the same recipe goes on.
    bench.write(file, file == "data.svm" ? kExamples : "0 1\n");
    bench.write("new", file == "data.svm" ? kExamples : "0 1\n");
    CHECK(bench.call({"run", "sweep.toml", "--jobs", "1"}).code == 0);
    CHECK(states()["finished"] == 3);
    CHECK(states().size() == 1);
  }
}

TEST_CASE("a file that changes while its run is under way ends it at the next checkpoint") {
  const Bench bench(R"(
$REAL "$@" & p=$!
until ls acid-store/checkpoints/*/* > made 2>&1; do sleep 0.02; done
cp new data.svm; wait $p; exit $?
)");
  bench.write("data.svm", kExamples);
  bench.write("graph.txt", "0 1\n");
  bench.write("new", kOthers);
  bench.write("moved.toml", recipe(""));
  const auto result = bench.call({"run", "moved.toml"});
  INFO(result.err);
  CHECK(result.code == 1);
  CHECK_THAT(result.err, ContainsSubstring("data.svm changed during the run"));
  CHECK(bench.told({"list"})["runs"].at(0)["state"] == "failed");
}
