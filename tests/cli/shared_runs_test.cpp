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
  Result call(const std::vector<std::string>& arguments) const {
    return acid::test::acid(*this, arguments);
  }
  json runs() const { return call({"list", "--json"}).json()["runs"]; }
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
  const Result planned = study.call({"plan", "study.toml"});
  CHECK_THAT(planned.out, ContainsSubstring("10 runs"));
  CHECK_THAT(planned.out, ContainsSubstring("ar-sgd reads no graph: each of its 2 runs is computed "
                                            "once and shared by 2 settings."));
  const Result result = study.call({"run", "study.toml"});
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("computed once for all graphs"));
  CHECK(study.runs().size() == 10);

  const json listed = study.call({"list", "--experiments", "--json"}).json()["experiments"][0];
  CHECK(listed["settings"] == 2);
  CHECK(listed["swept"] == json{{"topology.kind", {"ring", "complete"}}});

  const json both = study.call({"compare", "--json"}).json();
  const auto shared = metrics_of(both, "ar-sgd");
  REQUIRE(shared.size() == 2);
  for (const char* graph : {"ring", "complete"}) {
    const Result alone = study.call(
        {"run", "study.toml", "--set", std::string("sweep.topology.kind=[\"") + graph + "\"]"});
    INFO(graph << ": " << alone.err);
    CHECK_THAT(alone.err, ContainsSubstring("6 of 6 runs already finished"));
    const json one = study.call({"compare", "--json"}).json();
    CHECK(metrics_of(one, "ar-sgd").at(graph) == shared.at(graph));
    CHECK(metrics_of(one, "a2cid2").at(graph) == metrics_of(both, "a2cid2").at(graph));
  }
}

TEST_CASE("a shared run is verified, kept by gc and, where it was interrupted, taken up again") {
  const GraphStudy study;
  study.write("long.toml", study.read("study.toml"));
  REQUIRE(study.call({"run", "study.toml"}).code == 0);
  const std::string id = study.all_reduce();
  const json shown = study.call({"show", id, "--json"}).json();
  CHECK(shown["settings"]["topology"].is_null());
  CHECK(shown["topology"]["kind"] == "any");
  const Result verified = study.call({"verify", id});
  INFO(verified.err);
  CHECK(verified.code == 0);
  // In the recipe for one graph alone it is still the same run.
  REQUIRE(study.call({"run", "study.toml", "--set", "sweep.topology.kind=[\"complete\"]"}).code ==
          0);
  CHECK(study.call({"gc"}).code == 0);
  CHECK(study.all_reduce() == id);
  const Result again = study.call({"run", "study.toml", "--force"});
  CHECK(again.code == 0);
  CHECK(study.call({"show", id, "--json"}).json()["digests"] == shown["digests"]);
  CHECK(study.call({"report", "--html", "-o", "page.html"}).code == 0);
  CHECK_THAT(study.read("page.html"), ContainsSubstring("computed once for all graphs"));
}
