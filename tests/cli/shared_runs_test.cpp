// Runs that read no graph, in a sweep over graphs: computed once, and shown for each graph.
#include <algorithm>
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
