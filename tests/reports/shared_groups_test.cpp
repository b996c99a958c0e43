// Runs that are computed once for all graphs, at each sweep point that they belong to.
#include <algorithm>
#include <functional>
#include <set>

#include "reports/compare.hpp"
#include "reports/equal_places.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;

namespace {

const std::vector<std::string> kGraphs{"ring", "exponential"};

ComparedRun run_of(const std::string& algorithm, std::uint64_t seed, const json& topology,
                   int workers, double loss) {
  json settings{{"algorithm", {{"kind", algorithm}}},
                {"workers", {{"count", workers}}},
                {"topology", topology}};
  return synthetic::run(algorithm, seed, {{"eval_loss", loss}, {"consensus_distance", loss / 2}},
                        settings);
}

/// The sweep of graphs and workers; all-reduce once for all graphs, or for each.
std::vector<ComparedRun> sweep(bool shared, const std::vector<std::string>& algorithms) {
  std::vector<ComparedRun> runs;
  for (const std::string& graph : kGraphs)
    for (const int workers : {4, 8})
      for (const std::string& algorithm : algorithms)
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          const bool reads = algorithm != "ar-sgd";
          if (shared && !reads && graph != kGraphs.front()) continue;
          const json topology =
              shared && !reads ? json() : json{{"kind", graph}, {"self", graph.size()}};
          const double of_graph = reads ? static_cast<double>(graph.size()) / 100 : 0;
          runs.push_back(run_of(algorithm, seed, topology, workers,
                                1.0 / workers + 0.1 * static_cast<double>(seed) + of_graph));
        }
  return runs;
}

/// Seconds at the end of an ad-psgd run; those of ar-sgd take 100.
double seconds_on(const std::string& graph) { return graph == kGraphs.front() ? 50 : 80; }

/// A comparison without the groups' digests and the note that runs are shared.
json said(const std::vector<ComparedRun>& runs, const CompareOptions& options) {
  json document = to_json(compare_runs(runs, options));
  const std::function<void(json&)> without_digests = [&](json& value) {
    if (value.is_object())
      for (const char* key : {"group", "groups", "runs_group", "baseline", "reference", "runs"})
        if (value.contains(key) && !value[key].empty() && value[key].front().is_string())
          value.erase(key);
    if (value.is_structured())
      for (json& each : value) without_digests(each);
  };
  without_digests(document);
  std::erase_if(document["notes"].get_ref<json::array_t&>(), [](const json& note) {
    return synthetic::has(note.get<std::string>(), "reads no graph");
  });
  std::erase_if(document["caveats"].get_ref<json::array_t&>(),
                [](const json& note) { return note["kind"] == "shared_runs"; });
  return document;
}

}  // namespace

TEST_CASE("a comparison with shared runs says what one of separately computed runs says") {
  for (const char* baseline : {"ar-sgd", "ad-psgd"})
    for (const std::vector<std::string>& algorithms :
         {std::vector<std::string>{"ar-sgd", "ad-psgd", "a2cid2"},
          {"ad-psgd", "ar-sgd", "a2cid2"},
          {"ad-psgd", "a2cid2", "ar-sgd"}})
      for (const std::vector<std::string>& by :
           {std::vector<std::string>{}, {"topology.kind"}, {"workers.count"}}) {
        INFO(baseline << " among " << algorithms[0] << ", " << algorithms[1]);
        CompareOptions options;
        options.baseline = baseline;
        options.by = by;
        CHECK(said(sweep(true, algorithms), options) == said(sweep(false, algorithms), options));
      }
}

TEST_CASE("the groups of shared runs are told apart, know their runs and are spoken of once") {
  const Comparison comparison = compare_runs(sweep(true, {"ar-sgd", "ad-psgd"}));
  REQUIRE(comparison.groups.size() == 8);
  std::set<std::string> digests, of_runs;
  for (const ComparedGroup& group : comparison.groups) {
    digests.insert(group.group);
    of_runs.insert(group.runs_group);
    CHECK_FALSE(group.settings["topology"].is_null());
  }
  CHECK(digests.size() == 8);
  CHECK(of_runs.size() == 6);
  CHECK(std::ranges::count_if(comparison.notes, [](const ComparedNote& note) {
          return synthetic::has(note.text, "computed once for all graphs");
        }) == 1);
}

TEST_CASE("beside one graph, or none, shared runs are one group") {
  std::vector<ComparedRun> runs{run_of("ar-sgd", 1, nullptr, 4, 0.5),
                                run_of("ad-psgd", 1, {{"kind", "ring"}}, 4, 0.6)};
  const Comparison beside = compare_runs(runs);
  REQUIRE(beside.points.size() == 1);
  CHECK(beside.groups[0].group == beside.groups[0].runs_group);
  CHECK(beside.groups[1].varying.empty());
  runs.pop_back();
  const Comparison alone = compare_runs(runs);
  REQUIRE(alone.groups.size() == 1);
  CHECK(alone.groups[0].settings["topology"].is_null());
}

TEST_CASE("a run that is shared is compared at equal time at each of its points") {
  std::vector<ComparedRun> runs = sweep(true, {"ar-sgd", "ad-psgd"});
  for (ComparedRun& run : runs) {
    const json& topology = run.settings.at("topology");
    run.summary.progress.seconds =
        topology.is_null() ? 100 : seconds_on(topology.at("kind").get<std::string>());
  }
  Comparison comparison = compare_runs(runs, {}, {}, {}, [](Comparison& it) {
    it.equal = find_equal_places(it);
    for (const EqualPlace& place : it.equal)
      if (place.axis == PositionAxis::seconds)
        for (const std::size_t g : it.points[place.point].groups)
          for (RunSummary& run : it.groups[g].runs)
            run.metrics["eval_loss_at_equal_seconds"] = run.metrics["eval_loss"] + 1 / place.place;
  });
  REQUIRE(comparison.points.size() == 4);
  std::size_t found = 0;
  for (const EqualPlace& place : comparison.equal) {
    if (place.axis != PositionAxis::seconds) continue;
    ++found;
    json graph;
    for (const auto& [key, value] : comparison.points[place.point].settings)
      if (key == "topology.kind") graph = value;
    CHECK(place.place == seconds_on(graph.get<std::string>()));
    CHECK_FALSE(place.at_end);
    const ComparedGroup& baseline = comparison.groups[*comparison.points[place.point].baseline];
    CHECK(baseline.runs[0].metrics.at("eval_loss_at_equal_seconds") ==
          baseline.runs[0].metrics.at("eval_loss") + 1 / place.place);
  }
  CHECK(found == 4);
  // Each point's differences at the end and at equal time are one family.
  for (const ComparedDifference& one : comparison.differences)
    if (one.metric == "eval_loss") CHECK(one.family == 8);
}
