#include "reports/compare.hpp"

#include <algorithm>
#include <set>

#include "engine/base/error.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::noted;
using synthetic::run;

namespace {

std::vector<ComparedRun> two_algorithms() {
  return {run("ad-psgd", 1, {{"eval_loss", 0.5}}), run("ad-psgd", 2, {{"eval_loss", 0.7}}),
          run("ad-psgd", 3, {{"eval_loss", 0.6}}), run("ar-sgd", 3, {{"eval_loss", 0.4}}),
          run("ar-sgd", 1, {{"eval_loss", 0.2}}),  run("ar-sgd", 2, {{"eval_loss", 0.5}})};
}

}  // namespace

TEST_CASE("groups keep the recipe's order, their runs are ordered by seed") {
  const Comparison comparison = compare_runs(two_algorithms());
  REQUIRE(comparison.groups.size() == 2);
  CHECK(comparison.groups[0].algorithm == "ad-psgd");
  CHECK(comparison.groups[1].runs[0].seed == 1);
  CHECK(comparison.groups[1].runs[2].seed == 3);
  CHECK(comparison.groups[0].metrics.at("eval_loss").mean == Approx(0.6));
  CHECK_FALSE(comparison.groups[0].settings.contains("seed"));
  CHECK(comparison.metrics == std::vector<std::string>{"eval_loss"});
}

TEST_CASE("differences are paired by seed, whatever the order of the runs") {
  const Comparison comparison = compare_runs(two_algorithms());
  REQUIRE(comparison.differences.size() == 1);
  const ComparedDifference& difference = comparison.differences[0];
  CHECK(difference.group == comparison.groups[0].group);
  CHECK(difference.baseline == comparison.groups[1].group);
  CHECK(difference.value.difference.n == 3);
  CHECK(difference.value.difference.mean == Approx((0.3 + 0.2 + 0.2) / 3));
  CHECK(*difference.value.p == Approx(0.25));
  CHECK(*difference.p_holm == Approx(0.25));
  CHECK(noted(comparison, "n = 3 is too small to reach p = 0.05"));
}

TEST_CASE("only seeds that both groups finished are paired") {
  auto runs = two_algorithms();
  runs[0].summary.state = RunState::interrupted;
  const Comparison comparison = compare_runs(runs);
  CHECK(comparison.groups[0].unfinished == 1);
  CHECK(comparison.groups[0].metrics.at("eval_loss").n == 2);
  CHECK(comparison.differences[0].value.difference.n == 2);
  CHECK(noted(comparison, "1 of 3 runs are not in the numbers (1 interrupted: seed 1)"));
}

TEST_CASE("without the baseline the first algorithm stands in, and a note says so") {
  CompareOptions options;
  options.baseline = "d-psgd";
  const Comparison comparison = compare_runs(two_algorithms(), options);
  CHECK(comparison.baseline == "ad-psgd");
  CHECK(comparison.differences[0].group == comparison.groups[1].group);
  CHECK(noted(comparison, "no run of d-psgd"));
  options.baseline_must_be_there = true;
  CHECK_THROWS_WITH(compare_runs(two_algorithms(), options),
                    ContainsSubstring("'d-psgd' here, only of ad-psgd, ar-sgd"));
}

TEST_CASE("a sweep is compared point by point, against each point's own baseline") {
  std::vector<ComparedRun> runs;
  for (const int workers : {4, 16})
    for (const char* algorithm : {"ar-sgd", "a2cid2"})
      for (const std::uint64_t seed : {1, 2})
        runs.push_back(run(algorithm, seed, {{"eval_loss", workers + (algorithm[1] == '2')}},
                           {{"workers", {{"count", workers}}}}));
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.points.size() == 2);
  CHECK(point_title(comparison.points[1]) == "workers.count = 16");
  CHECK(comparison.points[0].groups == std::vector<std::size_t>{0, 1});
  CHECK(comparison.groups[0].varying == std::vector<std::string>{"workers.count"});
  REQUIRE(comparison.differences.size() == 2);
  for (const auto& difference : comparison.differences)
    CHECK(difference.value.difference.mean == Approx(1));
}

TEST_CASE("a key set for one algorithm only does not hide it from the baseline") {
  const json usual{{"optimizer", {{"learning_rate", 0.05}}}};
  const json own{{"optimizer", {{"learning_rate", 0.1}}}};
  const Comparison comparison = compare_runs(
      {run("ar-sgd", 1, {{"eval_loss", 1}}, usual), run("a2cid2", 1, {{"eval_loss", 2}}, own)});
  CHECK(comparison.points.size() == 1);
  REQUIRE(comparison.differences.size() == 1);
  CHECK(noted(comparison, "optimizer.learning_rate = 0.1 (baseline 0.05)"));
  CHECK(noted(comparison, "n = 1"));
}

TEST_CASE("two entries of one algorithm get labels that tell them apart") {
  json slow, fast;
  slow["algorithm"]["communication_rate"] = 1.0;
  fast["algorithm"]["communication_rate"] = 2.0;
  const Comparison comparison = compare_runs(
      {run("ad-psgd", 1, {{"eval_loss", 1}}, slow), run("ad-psgd", 1, {{"eval_loss", 2}}, fast)});
  CHECK(comparison.groups[0].label == "ad-psgd (communication_rate 1)");
  CHECK(comparison.groups[1].label == "ad-psgd (communication_rate 2)");
  CHECK(comparison.differences.size() == 1);
}

TEST_CASE("a note says where methods exchange at different rates of their own") {
  const auto at = [](double rate) {
    return json{{"algorithm", {{"communication_rate", rate}}}, {"workers", {{"count", 4}}}};
  };
  const std::map<std::string, double> loss{{"eval_loss", 1}};
  const char* note = "exchanges per gradient differ too: ad-psgd 2, a2cid2 1";
  CHECK(noted(compare_runs({run("ar-sgd", 1, loss), run("ad-psgd", 1, loss, at(2)),
                            run("a2cid2", 1, loss, at(1))}),
              note));
  CHECK_FALSE(noted(compare_runs({run("ad-psgd", 1, loss, at(1)), run("a2cid2", 1, loss, at(1))}),
                    "differ too"));
  // A study of the rate itself varies it on purpose.
  CHECK_FALSE(noted(compare_runs({run("ad-psgd", 1, loss, at(1)), run("ad-psgd", 1, loss, at(2)),
                                  run("a2cid2", 1, loss, at(1))}),
                    "differ too"));
}

TEST_CASE("consensus ratios refer to the first group that has a consensus distance") {
  const char* mid = "consensus_distance_mid";
  std::vector<ComparedRun> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    const double scale = static_cast<double>(seed);
    runs.push_back(run("ar-sgd", seed, {{mid, 0}}));
    runs.push_back(run("ad-psgd", seed, {{mid, 4 * scale}}));
    runs.push_back(run("a2cid2", seed, {{mid, scale}}));
  }
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.ratios.size() == 1);
  CHECK(comparison.ratios[0].reference == comparison.groups[1].group);
  CHECK(comparison.ratios[0].value.mean == Approx(0.25));
  CHECK(*comparison.ratios[0].value.ci_high == Approx(0.25));
}

TEST_CASE("Holm's adjustment runs over all differences of a metric") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    runs.push_back(run("ar-sgd", seed, {{"eval_loss", 1}}));
    runs.push_back(run("ad-psgd", seed, {{"eval_loss", 2}}));
    runs.push_back(run("a2cid2", seed, {{"eval_loss", 3}}));
  }
  const Comparison comparison = compare_runs(runs);
  for (const auto& difference : comparison.differences) {
    CHECK(*difference.value.p == Approx(1.0 / 32));
    CHECK(*difference.p_holm == Approx(1.0 / 16));
  }
}

TEST_CASE("bad input is refused with what would be right") {
  CHECK_THROWS_AS(compare_runs({}), UsageError);
  CompareOptions options;
  options.metrics = {"eval_los"};
  CHECK_THROWS_WITH(compare_runs(two_algorithms(), options), ContainsSubstring("eval_loss"));
}

TEST_CASE("unfinished runs alone make a comparison without numbers") {
  auto runs = two_algorithms();
  for (ComparedRun& one : runs) one.summary.state = RunState::planned;
  const Comparison comparison = compare_runs(runs);
  CHECK(comparison.differences.empty());
  CHECK(comparison.metrics.empty());
  CHECK(comparison.groups[0].unfinished == 3);
  CHECK_FALSE(to_text(comparison, false).empty());
}

namespace {

/// Two topologies × two learning rates, both algorithms; the loss identifies the run.
std::vector<ComparedRun> two_by_two() {
  std::vector<ComparedRun> runs;
  for (const double rate : {0.05, 0.1})
    for (const char* topology : {"ring", "complete"})
      for (const char* algorithm : {"ar-sgd", "a2cid2"})
        for (const std::uint64_t seed : {1, 2})
          runs.push_back(
              run(algorithm, seed,
                  {{"eval_loss",
                    10 * rate + (algorithm[1] == '2' ? 1 : 0) + 0.001 * static_cast<double>(seed)}},
                  {{"topology", {{"kind", topology}}}, {"optimizer", {{"learning_rate", rate}}}}));
  return runs;
}

CompareOptions by(const std::vector<std::string>& keys) {
  CompareOptions options;
  options.by = keys;
  return options;
}

}  // namespace

TEST_CASE("comparing --by divides into sections and merges nothing") {
  const Comparison whole = compare_runs(two_by_two());
  CHECK(whole.sections.size() == 4);
  CHECK(whole.columns.empty());

  const Comparison comparison = compare_runs(two_by_two(), by({"topology.kind"}));
  REQUIRE(comparison.sections.size() == 2);
  CHECK(settings_title(comparison.sections[0].settings) == "topology.kind = ring");
  CHECK(comparison.columns == std::vector<std::string>{"optimizer.learning_rate"});
  CHECK(comparison.groups.size() == 8);
  CHECK(comparison.sections[1].groups == std::vector<std::size_t>{2, 3, 6, 7});
  // Every difference is still to the baseline at the same topology and learning rate.
  REQUIRE(comparison.differences.size() == 4);
  for (const ComparedDifference& difference : comparison.differences) {
    CHECK(difference.value.difference.mean == Approx(1));
    CHECK(group_of(comparison, difference.group).settings["optimizer"] ==
          group_of(comparison, difference.baseline).settings["optimizer"]);
  }
  CHECK(to_json(comparison)["sections"][0]["settings"]["topology.kind"] == "ring");
  CHECK(to_json(comparison)["by"] == json({"topology.kind"}));
}

TEST_CASE("comparing --by takes several keys, and the algorithm's own") {
  CHECK(compare_runs(two_by_two(), by({"optimizer.learning_rate", "topology.kind"}))
            .sections.size() == 4);
  const Comparison comparison = compare_runs(two_by_two(), by({"algorithm.kind"}));
  REQUIRE(comparison.sections.size() == 2);
  CHECK(comparison.sections[0].groups == std::vector<std::size_t>{0, 2, 4, 6});
  CHECK(comparison.columns.size() == 2);
}

TEST_CASE("comparing --by with a setting that no run has names what was probably meant") {
  CHECK_THROWS_WITH(compare_runs(two_by_two(), by({"topolgy.kind"})),
                    ContainsSubstring("did you mean topology.kind?") &&
                        ContainsSubstring("optimizer.learning_rate"));
  CHECK_THROWS_WITH(compare_runs(two_by_two(), by({"learning_rate"})),
                    ContainsSubstring("did you mean optimizer.learning_rate?"));
  CHECK_THROWS_WITH(compare_runs(two_by_two(), by({"topolgy"})),
                    ContainsSubstring("did you mean topology.kind?"));
  CHECK_THROWS_AS(compare_runs(two_by_two(), by({"topology.kind", ""})), UsageError);
}

TEST_CASE("a cadence that follows from a swept setting is no name of a point") {
  std::vector<ComparedRun> runs;
  for (const int workers : {4, 8})
    runs.push_back(run(
        "ar-sgd", 1, {{"eval_loss", 1}},
        {{"workers", {{"count", workers}}}, {"evaluation", {{"every_time", 100.0 / workers}}}}));
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.points.size() == 2);
  CHECK(point_title(comparison.points[0]) == "workers.count = 4");
  runs.push_back(run("ar-sgd", 1, {{"eval_loss", 1}},
                     {{"workers", {{"count", 8}}}, {"evaluation", {{"every_time", 1.0}}}}));
  CHECK(compare_runs(runs).points.size() == 3);
}

TEST_CASE("settings of the same run divide no comparison, nor does a file that was moved") {
  std::vector<ComparedRun> runs;
  for (const int workers : {4, 8})
    for (const char* algorithm : {"ar-sgd", "a2cid2"})
      runs.push_back(
          run(algorithm, 1, {{"eval_loss", 1}},
              {{"workers", {{"count", workers}}},
               {"execution", {{"predict", workers == 4}, {"driver", "virtual"}}},
               {"checkpoint", {{"every_time", workers}}},
               {"task", {{"dataset", {{"kind", "npy"}, {"root", std::to_string(workers)}}}}}}));
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.points.size() == 2);
  CHECK(point_title(comparison.points[0]) == "workers.count = 4");
  CHECK(swept_keys(comparison) == std::set<std::string>{"workers.count"});
}

TEST_CASE("a swept machine is the name of a point") {
  std::vector<ComparedRun> runs;
  for (const char* machine : {"a", "b"})
    runs.push_back(run("ar-sgd", 1, {{"eval_loss", 1}},
                       {{"execution",
                         {{"driver", "virtual"},
                          {"virtual",
                           {{"machine", machine},
                            {"network", {{"gradient_seconds", machine[0] - 'a' + 1.0}}}}}}}}));
  CHECK(swept_keys(compare_runs(runs)).contains("execution.virtual.machine"));
}

TEST_CASE("differences are over the seeds that both have, and a note says which") {
  std::vector<ComparedRun> runs;
  for (const std::uint64_t seed : {1, 2, 3, 4})
    runs.push_back(run("ar-sgd", seed, {{"eval_loss", 1}}));
  for (const std::uint64_t seed : {2, 4, 5})
    runs.push_back(run("ad-psgd", seed, {{"eval_loss", 2.0 + static_cast<double>(seed)}}));
  runs.push_back(run("a2cid2", 9, {{"eval_loss", 1}}));
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.differences.size() == 1);
  CHECK(comparison.differences[0].value.difference.n == 2);
  CHECK(comparison.differences[0].value.difference.mean == Approx(4));
  CHECK(noted(comparison,
              "ad-psgd: differences to ar-sgd are over the 2 seeds that both have (2, 4)"));
  CHECK(noted(comparison, "a2cid2 has no seed in common with ar-sgd"));
}

TEST_CASE("the note on few seeds knows how many Holm's correction takes") {
  std::vector<ComparedRun> runs;
  for (const char* algorithm : {"ar-sgd", "ad-psgd", "a2cid2", "d-psgd"})
    for (const std::uint64_t seed : {1, 2, 3})
      runs.push_back(run(algorithm, seed, {{"eval_loss", static_cast<double>(seed)}}));
  // 3 × 2/2⁶ = 0.094, 3 × 2/2⁷ = 0.047.
  CHECK(noted(compare_runs(runs),
              "after Holm's correction over 3 differences, is 0.75; 7 seeds could"));
  // Six seeds are enough for one difference, and not for three.
  for (const char* algorithm : {"ar-sgd", "ad-psgd", "a2cid2", "d-psgd"})
    for (const std::uint64_t seed : {4, 5, 6})
      runs.push_back(run(algorithm, seed, {{"eval_loss", static_cast<double>(seed)}}));
  CHECK(noted(compare_runs(runs), "n = 6 is too small"));
}

TEST_CASE("which of two values is better is known of recorded and of derived metrics") {
  CHECK(better_direction("eval_accuracy") > 0);
  CHECK(better_direction("eval_loss") < 0);
  CHECK(better_direction("auc_eval_accuracy") > 0);
  CHECK(better_direction("gradients_to_target") < 0);
  CHECK(better_direction("gradients") == 0);
  CHECK(better_direction("nonsense") == 0);
}

TEST_CASE("compare reads a store: derived metrics, window average, the recipe's order") {
  const synthetic::Filled made({.samples = 40});
  const Comparison comparison = compare(made.store, made.ids);
  REQUIRE(comparison.groups.size() == 3);
  CHECK(comparison.groups[0].label == "AR-SGD");
  const auto& metrics = comparison.groups[2].metrics;
  CHECK(metrics.at("gradients").mean == 6400);
  CHECK(metrics.at("seconds").mean == Approx(20).epsilon(1e-3));
  CHECK(metrics.at("gradients_per_second").mean == Approx(320).epsilon(1e-3));
  CHECK(metrics.at("consensus_distance_mid").mean == Approx(0.035).epsilon(0.25));
  CHECK(metrics.at("consensus_distance_mid").mean > 2 * metrics.at("consensus_distance").mean);
  REQUIRE(find_ratio(comparison, comparison.groups[2].group, "consensus_distance_mid"));
  CHECK(find_ratio(comparison, comparison.groups[2].group, "consensus_distance_mid")->value.mean ==
        Approx(1.0 / 6).epsilon(0.2));
}

TEST_CASE("a store is compared the same whichever way its series are read") {
  const synthetic::Filled made({.seeds = 2, .samples = 100});
  CompareOptions options;
  options.derive_all = true;
  options.target = Target{"eval_accuracy", 0.9};
  const Comparison comparison = compare(made.store, made.ids, options);
  for (const ComparedGroup& group : comparison.groups)
    for (const RunSummary& run : group.runs) {
      const auto series = [&](const char* metric) {
        return read_series(made.store, run.id, metric, true).at(0).points;
      };
      double sum = 0, count = 0, area = 0;
      for (const SeriesPoint& point : series("consensus_distance")) {
        const double share = static_cast<double>(point.position.gradients) / 6400;
        if (share < 0.2 || share > 0.5) continue;
        sum += point.value;
        ++count;
      }
      CHECK(run.metrics.at("consensus_distance_mid") == Approx(sum / count));
      const auto accuracy = series("eval_accuracy");
      for (std::size_t k = 1; k < accuracy.size(); ++k)
        area += (accuracy[k].value + accuracy[k - 1].value) / 2 *
                static_cast<double>(accuracy[k].position.gradients -
                                    accuracy[k - 1].position.gradients);
      CHECK(run.metrics.at("auc_eval_accuracy") == Approx(area / 6400));
      const auto first = std::ranges::find_if(
          accuracy, [](const SeriesPoint& point) { return point.value >= 0.9; });
      const auto last = std::prev(first);
      CHECK(run.metrics.at("gradients_to_target") ==
            Approx(static_cast<double>(last->position.gradients) +
                   static_cast<double>(first->position.gradients - last->position.gradients) *
                       (0.9 - last->value) / (first->value - last->value)));
    }
  CHECK(noted(comparison, "6 of 6 runs reached eval_accuracy = 0.9"));
  CHECK(noted(comparison, "a target is reached on the line between two samples"));
  CHECK(noted(comparison, "auc_*: mean height of the curve from 0 to 6400 gradients"));
  CHECK(std::ranges::find(comparison.metrics, "auc_eval_loss") != comparison.metrics.end());
  options.derive_all = false;
  CHECK(compare(made.store, made.ids, options).metrics.back() == "gradients_per_second");
  options.target = Target{"eval_acuracy", 0.9};
  CHECK_THROWS_WITH(
      compare(made.store, made.ids, options),
      ContainsSubstring("did you mean eval_accuracy?") && ContainsSubstring("consensus_distance"));
}
