// Runs whose data files lie somewhere else when they go on.
#include <filesystem>

#include "tests/cli/scripted_worker.hpp"

using Bench = acid::test::ScriptedWorker;

namespace {

// Without an end. The paths begin with `prefix`.
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

}  // namespace

TEST_CASE("a run whose data and graph were moved goes on where it was") {
  // Saves once, then is interrupted.
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
  bench.write("data.svm", "+1 1:0.5 2:1\n-1 1:-0.5 2:0.25\n+1 2:2\n-1 1:1\n");
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
