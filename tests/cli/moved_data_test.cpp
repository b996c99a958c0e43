// Runs whose data files have been moved, or have changed, when they go on.
#include <filesystem>
#include <map>

#include "tests/cli/scripted_worker.hpp"

using Bench = acid::test::ScriptedWorker;

namespace {

// A run without end. The paths begin with `prefix`.
std::string recipe(const std::string& prefix) {
  return "name = \"moved\"\nseeds = [1]\n[task]\nbatch_size = 1\n"
         "dataset = { kind = \"logistic\", path = \"" +
         prefix +
         "data.svm\" }\n[optimizer]\nkind = \"sgd\"\nlearning_rate = 0.05\n"
         "[workers]\ncount = 2\n[topology]\nkind = \"edges\"\nedges = \"" +
         prefix +
         "graph.txt\"\n[budget]\ngradients = 1000000000\n[checkpoint]\nevery_time = 1000\n"
         "[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = 1.0\n";
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
  const auto runs = bench.call({"list", "--json"}).json()["runs"];
  REQUIRE(runs.size() == 1);
  const auto shown = bench.call({"show", runs[0]["id"], "--json"}).json();
  REQUIRE(shown["attempts"].size() == 2);
  CHECK(shown["attempts"][1]["changed"].empty());
}

TEST_CASE("a file that changes while a sweep runs is refused by the runs that come after") {
  for (const std::string file : {"data.svm", "graph.txt"}) {
    const Bench bench("$REAL \"$@\"; code=$?; cp new " + file + "; exit $code\n");
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
      const auto listed = bench.call({"list", "--json"}).json();
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
  CHECK(bench.call({"list", "--json"}).json()["runs"].at(0)["state"] == "failed");
}
