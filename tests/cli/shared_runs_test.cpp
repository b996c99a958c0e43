// Runs that read no graph, in a sweep over graphs: computed once, and shown for each graph.
#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;
using acid::test::Result;
using nlohmann::json;

namespace {

struct GraphStudy : Folder {
  GraphStudy() {
    write("study.toml", std::string(acid::test::kSmallRecipe) +
                            "[sweep]\ntopology.kind = [\"ring\", \"complete\"]\n");
  }
  std::string all_reduce() const {
    for (const json& run : runs())
      if (run["algorithm"] == "ar-sgd") return run["id"];
    FAIL("no run of ar-sgd");
    return {};
  }
};

// The metrics of the algorithm's groups in a comparison, by graph.
std::map<std::string, json> metrics_of(const json& comparison, const std::string& algorithm) {
  std::map<std::string, json> found;
  for (const json& group : comparison["groups"])
    if (group["algorithm"] == algorithm)
      found[group["settings"]["topology"]["kind"]] = group["metrics"];
  return found;
}

}  // namespace

TEST_CASE("a recipe whose file changes makes another experiment, and the first one stays") {
  const Folder folder;
  std::string recipe = acid::test::kSmallRecipe;
  const std::string ring = "topology.kind = \"ring\"";
  recipe.replace(recipe.find(ring), ring.size(),
                 "topology = { kind = \"edges\", edges = \"graph.txt\" }");
  folder.write("it.toml", recipe);
  const auto run = [&](const char* graph) {
    folder.write("graph.txt", graph);
    return folder.done({"run", "it.toml"}).err;
  };
  std::filesystem::create_directories(folder.path("acid-store"));
  folder.write("acid-store/store.db", "");  // as left by a process that was killed at once
  run("0 1\n1 2\n2 3\n");
  const json first = folder.told({"list", "--experiments"})["experiments"][0];
  const std::string other = run("0 1\n0 2\n0 3\n");
  CHECK_THAT(other, ContainsSubstring("experiment " + first["id"].get<std::string>() +
                                      " has other runs of this recipe"));
  const json both = folder.told({"list", "--experiments"})["experiments"];
  REQUIRE(both.size() == 2);
  CHECK(both[1]["id"] == first["id"]);
  CHECK(both[1]["runs"] == first["runs"]);
  CHECK(both[0]["id"] != first["id"]);
  // Back again, the first one is the newest.
  CHECK_THAT(run("0 1\n1 2\n2 3\n"), !ContainsSubstring("other runs"));
  CHECK(folder.told({"list", "--experiments"})["experiments"][0]["id"] == first["id"]);
}

TEST_CASE("a sweep of graphs computes an all-reduce once and shows it beside each of them") {
  const GraphStudy study;
  CHECK_THAT(study.done({"plan", "study.toml"}).out,
             ContainsSubstring("10 runs") &&
                 ContainsSubstring("ar-sgd reads no graph: each of its 2 runs is computed "
                                   "once and shared by 2 settings."));
  const Result result = study.done({"run", "study.toml"});
  CHECK_THAT(result.out, ContainsSubstring("computed once for all graphs"));
  CHECK(study.runs().size() == 10);

  const json listed = study.told({"list", "--experiments"})["experiments"][0];
  CHECK(listed["settings"] == 2);
  CHECK(listed["swept"] == json{{"topology.kind", {"ring", "complete"}}});

  const json both = study.told({"compare"});
  const auto shared = metrics_of(both, "ar-sgd");
  REQUIRE(shared.size() == 2);
  for (const char* graph : {"ring", "complete"}) {
    const Result alone = study.call(
        {"run", "study.toml", "--set", std::string("sweep.topology.kind=[\"") + graph + "\"]"});
    INFO(graph << ": " << alone.err);
    CHECK_THAT(alone.err, ContainsSubstring("6 of 6 runs already finished"));
    const json one = study.told({"compare"});
    CHECK(metrics_of(one, "ar-sgd").at(graph) == shared.at(graph));
    CHECK(metrics_of(one, "a2cid2").at(graph) == metrics_of(both, "a2cid2").at(graph));
  }
}

TEST_CASE("a shared run is verified, kept by gc and, where it was interrupted, taken up again") {
  const GraphStudy study;
  study.write("long.toml", study.read("study.toml"));
  study.done({"run", "study.toml"});
  const std::string id = study.all_reduce();
  const json shown = study.shown(id);
  CHECK(shown["settings"]["topology"].is_null());
  CHECK(shown["topology"]["kind"] == "any");
  study.done({"verify", id});
  // In the recipe for one graph alone it is still the same run.
  study.done({"run", "study.toml", "--set", "sweep.topology.kind=[\"complete\"]"});
  CHECK(study.call({"gc"}).code == 0);
  CHECK(study.all_reduce() == id);
  const Result again = study.call({"run", "study.toml", "--force"});
  CHECK(again.code == 0);
  CHECK(study.shown(id)["digests"] == shown["digests"]);
  CHECK(study.call({"report", "--html", "-o", "page.html"}).code == 0);
  CHECK_THAT(study.read("page.html"), ContainsSubstring("computed once for all graphs"));
}

TEST_CASE("what a sweep leaves out is named with its reason from the plan to the report") {
  const acid::test::SmallStudy folder;
  const std::vector<std::string> sweep{
      "--set", R"(sweep={ topology.kind = ["ring", "one-peer-exponential"] })", "--set",
      R"(algorithms=["d-psgd", "ad-psgd"])"};
  const auto with = [&](std::vector<std::string> command, bool skip) {
    command.insert(command.end(), sweep.begin(), sweep.end());
    if (skip) command.insert(command.end(), {"--set", "sweep.skip_inapplicable=true"});
    return command;
  };
  constexpr const char* kCell = "AD-PSGD at topology.kind = one-peer-exponential: ";
  constexpr const char* kReason = "ad-psgd draws pairs instead";
  acid::test::check_refused(
      folder.call(with({"run", "small.toml"}, false)),
      {kReason, "set sweep.skip_inapplicable = true to leave out such cells"});

  const auto plan = folder.done(with({"plan", "small.toml"}, true));
  CHECK_THAT(plan.out, ContainsSubstring("6 runs") && ContainsSubstring("Left out") &&
                           ContainsSubstring(kCell) && ContainsSubstring(kReason));
  CHECK_THAT(plan.err, ContainsSubstring("1 cell of the sweep left out"));
  CHECK_THAT(folder.done(with({"plan", "small.toml", "--markdown"}, true)).out,
             ContainsSubstring(kCell));
  folder.done(with({"run", "small.toml"}, true));
  CHECK(folder.runs().size() == 6);
  for (const char* form : {"--details", "--markdown", "--pivot"})
    CHECK_THAT(folder.done({"compare", "small", form}).out,
               ContainsSubstring("left out of the sweep"));
  const auto compared = folder.told({"compare", "small"});
  const auto is_about = [](const json& note) { return note["kind"] == "left_out"; };
  REQUIRE(std::ranges::count_if(compared["caveats"], is_about) == 1);
  const json note = *std::ranges::find_if(compared["caveats"], is_about);
  CHECK_THAT(note["text"], ContainsSubstring(kCell) && ContainsSubstring(kReason));
  const auto listed = folder.told({"list", "--experiments"});
  CHECK(listed["experiments"][0]["left_out"] == 1);
  CHECK_THAT(folder.done({"list", "--experiments"}).out, ContainsSubstring("2, 1 cell left out"));
  folder.done({"report", "small", "--html", "-o", "page.html"});
  CHECK_THAT(folder.read("page.html"), ContainsSubstring("left out of the sweep") &&
                                           ContainsSubstring("draws pairs instead"));
}
