#include "reports/selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::noted;
using synthetic::run;

namespace {

using Runs = std::vector<ComparedRun>;

json settings_of(double rate, const std::string& graph = "ring") {
  return {{"optimizer", {{"learning_rate", rate}}},
          {"topology", {{"kind", graph}}},
          {"task", {{"batch_size", 8}}}};
}

/// Adds four rates on seeds 1 to 4 for an algorithm on a graph; validation_loss is least at `best`.
void add(Runs& runs, const std::string& algorithm, double best, const std::string& graph = "ring",
         const std::vector<double>& rates = {0.05, 0.1, 0.2, 0.4}) {
  for (const double rate : rates)
    for (const std::uint64_t seed : {1, 2, 3, 4}) {
      const double loss = std::abs(std::log(rate / best)) + 0.01 * static_cast<double>(seed % 3);
      runs.push_back(run(algorithm, seed, {{"validation_loss", loss}, {"eval_loss", loss + 0.1}},
                         settings_of(rate, graph)));
    }
}

CompareOptions best_over(std::vector<std::uint64_t> seeds, bool same = false) {
  CompareOptions options;
  options.best_over = {"optimizer.learning_rate"};
  options.selection_seeds = std::move(seeds);
  options.same_seeds = same;
  return options;
}

double rate_of(const ComparedGroup& group) { return group.settings["optimizer"]["learning_rate"]; }

}  // namespace

TEST_CASE("the best value of each algorithm is compared, on the seeds that it was not chosen on") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  add(runs, "ad-psgd", 0.1);
  const Comparison comparison = compare_runs(runs, best_over({1, 2}));
  REQUIRE(comparison.groups.size() == 2);
  CHECK(rate_of(comparison.groups[0]) == 0.2);
  CHECK(rate_of(comparison.groups[1]) == 0.1);
  for (const ComparedGroup& group : comparison.groups)
    CHECK(group.seeds() == std::set<std::uint64_t>{3, 4});
  REQUIRE(comparison.points.size() == 1);  // the rates do not separate them
  CHECK(comparison.points[0].settings.empty());
  CHECK(find_difference(comparison, comparison.groups[1].group, "eval_loss") != nullptr);
  REQUIRE(comparison.selections.size() == 1);
  const Selection& selection = comparison.selections[0];
  CHECK(selection.metric == "validation_loss");
  CHECK(selection.seeds == std::vector<std::uint64_t>{1, 2});
  CHECK_FALSE(selection.on_test);
  CHECK(selection.choices[0].runs() == 8);
  CHECK(selection.choices[0].edges.empty());
  CHECK(noted(comparison,
              "optimizer.learning_rate chosen for each algorithm by the mean of "
              "validation_loss over seeds 1, 2: 4 values, 8 runs each; what is compared "
              "ran on other seeds"));
  CHECK_FALSE(noted(comparison, "also differs from its baseline"));
  CHECK_FALSE(noted(comparison, "TEST SET"));
}

TEST_CASE("an algorithm that was not searched is told, and in what else it differs") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  add(runs, "ad-psgd", 0.1);
  const Selection selection = select_best(runs, best_over({1, 2}));
  add(runs, "a2cid2", 0.9, "ring", {0.9});
  const Comparison comparison = compare_runs(runs, {}, {selection});
  CHECK(noted(comparison, "optimizer.learning_rate chosen for ar-sgd, ad-psgd by the mean of"));
  CHECK(noted(comparison, "a2cid2: not searched, so that settings are as written"));
  CHECK(noted(comparison, "differs from its baseline in optimizer.learning_rate = 0.9 (baseline "));
  CHECK_FALSE(noted(comparison, "ad-psgd also differs from its baseline"));
}

TEST_CASE("without the usual baseline the first algorithm is it, whatever values are chosen") {
  for (const double best : {0.05, 0.4}) {
    Runs runs;  // rate by rate, as a sweep has them
    for (const double rate : {0.05, 0.1, 0.2, 0.4}) {
      add(runs, "d-psgd", 0.2, "ring", {rate});
      add(runs, "ad-psgd", best, "ring", {rate});
    }
    CHECK(compare_runs(runs, best_over({1, 2})).baseline == "d-psgd");
  }
}

TEST_CASE("each setting of a sweep has its own choice, and its own baseline") {
  Runs runs;
  for (const char* graph : {"ring", "exponential"}) {
    add(runs, "ar-sgd", 0.2, graph);
    add(runs, "ad-psgd", std::string(graph) == "ring" ? 0.1 : 0.4, graph);
  }
  const Comparison comparison = compare_runs(runs, best_over({1, 2}));
  REQUIRE(comparison.groups.size() == 4);
  REQUIRE(comparison.points.size() == 2);
  CHECK(point_title(comparison.points[0]) == "topology.kind = ring");
  CHECK(rate_of(comparison.groups[1]) == 0.1);
  CHECK(rate_of(comparison.groups[3]) == 0.4);
  CHECK(noted(comparison,
              "ad-psgd (topology.kind = exponential): optimizer.learning_rate = 0.4, "
              "the largest of 4"));
  const std::string text = to_text(comparison, false);
  CHECK_THAT(text, ContainsSubstring("chosen  by validation_loss"));
  CHECK_THAT(text, ContainsSubstring("of 4 values, 8 runs, the largest of 4"));
  CHECK_THAT(to_latex(comparison),
             ContainsSubstring("% ad-psgd at topology.kind = ring: learning_rate = 0.1, of 4"));
  CHECK_THAT(to_markdown(comparison),
             ContainsSubstring("learning_rate = 0.1, of 4 values, 8 runs"));
  const json document = to_json(comparison)["selections"][0];
  CHECK(document["choices"].size() == 4);
  CHECK(document["choices"][3]["edges"] == json{"optimizer.learning_rate"});
  CHECK(to_json(selection_from(document)) == document);
  const std::string csv = to_csv(comparison);
  CHECK_THAT(csv, ContainsSubstring("selected_by,selection_values,selection_runs,selection_edges"));
  CHECK_THAT(csv, ContainsSubstring("validation_loss,4,8,optimizer.learning_rate,"));
  CHECK_THAT(csv, ContainsSubstring(",,,,,chosen on_edge "));
  CHECK_THAT(csv, ContainsSubstring("validation_loss,4,8,,"));
}

TEST_CASE("an algorithm at several values of a key of its own is told apart by it") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  for (const double own : {1.0, 2.0})
    for (const double rate : {0.05, 0.1, 0.2, 0.4})
      for (const std::uint64_t seed : {1, 2, 3, 4}) {
        json settings = settings_of(rate);
        settings["algorithm"] = {{"communication_rate", own}};
        const double loss = std::abs(std::log(rate / 0.1));
        runs.push_back(
            run("ad-psgd", seed, {{"validation_loss", loss}, {"eval_loss", loss + 0.1}}, settings));
      }
  const Comparison comparison = compare_runs(runs, best_over({1, 2}));
  const auto& choices = comparison.selections.at(0).choices;
  REQUIRE(choices.size() == 3);
  CHECK(choices[0].label == "ar-sgd");
  CHECK(choices[1].label == "ad-psgd (communication_rate 1)");
  CHECK(choices[2].label == "ad-psgd (communication_rate 2)");
  CHECK(comparison.groups[2].label == choices[2].label);
  CHECK_THAT(to_text(comparison, false), ContainsSubstring("\n  ad-psgd (communication_rate 2)  "));
}

TEST_CASE("the same seeds are refused unless accepted, and then it is said") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  add(runs, "ad-psgd", 0.1);
  CHECK_THROWS_AS(compare_runs(runs, best_over({})), UsageError);
  CHECK_THROWS_WITH(compare_runs(runs, best_over({})),
                    ContainsSubstring("on the same seeds (1, 2, 3, 4)") &&
                        ContainsSubstring("--selection-seeds") &&
                        ContainsSubstring("--same-seeds") && ContainsSubstring("[search]"));
  CHECK_THROWS_AS(compare_runs(runs, best_over({1, 2, 3, 4})), UsageError);
  CHECK_THROWS_WITH(compare_runs(runs, best_over({7})), ContainsSubstring("among 7"));
  const Comparison comparison = compare_runs(runs, best_over({}, true));
  CHECK(comparison.groups[0].seeds().size() == 4);
  CHECK(noted(comparison, "CHOSEN AND COMPARED ON THE SAME SEEDS"));
}

TEST_CASE("without validation data it chooses on the test set, and says so loudly") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  add(runs, "ad-psgd", 0.1);
  runs.front().summary.metrics.erase("validation_loss");
  const Comparison comparison = compare_runs(runs, best_over({1, 2}));
  CHECK(comparison.selections[0].metric == "eval_loss");
  CHECK(noted(comparison, "CHOSEN ON THE TEST SET: eval_loss"));
  CompareOptions named = best_over({1, 2});
  named.best_on = "validation_loss";
  CHECK_THROWS_WITH(compare_runs(runs, named), ContainsSubstring("has no validation_loss"));
  named.best_on = "learning_rate";
  CHECK_THROWS_WITH(compare_runs(runs, named), ContainsSubstring("neither more nor less"));
  // A task that has no finite data has no test set, either.
  for (ComparedRun& one : runs) one.settings["task"]["batch_size"] = nullptr;
  CHECK_FALSE(compare_runs(runs, best_over({1, 2})).selections[0].on_test);
}

namespace {

/// Runs of three rates in a rung, whose groups are named by it, with one seed and these losses; a
/// loss of 0 is that of a run that diverged, and without a loss a rate has no run.
struct RungOfRates {
  std::string name;
  std::int64_t gradients;
  std::vector<std::optional<double>> losses;

  Cells cells() const {
    Cells one(1);
    for (std::size_t k = 0; k < losses.size(); ++k)
      one[0].push_back(losses[k] ? name + std::to_string(k) : "");
    return one;
  }
  Runs runs() const {
    Runs all;
    for (std::size_t k = 0; k < losses.size(); ++k) {
      if (!losses[k]) continue;
      json settings = settings_of(std::array{0.1, 0.2, 0.4, 0.8}.at(k));
      settings["budget"]["gradients"] = gradients;
      ComparedRun& one =
          all.emplace_back(run("ad-psgd", 7, {{"validation_loss", *losses[k]}}, settings));
      one.summary.group = cells()[0][k];
      if (*losses[k] > 0) continue;
      one.summary.state = RunState::diverged;
      one.summary.metrics.clear();
    }
    return all;
  }
};

Selection first_rung(const RungOfRates& rung) {
  return select(rung.runs(), rung.cells(), {"optimizer.learning_rate"}, "validation_loss", {});
}

}  // namespace

TEST_CASE("a rung keeps the best values, and those of the next are judged by their runs there") {
  const RungOfRates first{"first", 100, {0.5, 0.3, 0.4, 0.0}};
  Selection selection = first_rung(first);
  selection.rungs = {{0.25, 4}, {0.5, 2}};
  CHECK(selection.choices[0].chosen == 1);
  const Cells names{{"a", "b", "c", "d"}};
  CHECK(best_of(selection, 2, names) == Cells{{"", "b", "c", ""}});
  CHECK(best_of(selection, 4, names) == names);
  // In the next rung the other is better, though worse than a value was in the first.
  const RungOfRates second{"second", 200, {{}, 0.6, 0.45, {}}};
  judge_again(selection, second.runs(), second.cells());
  const Selection::Choice& choice = selection.choices[0];
  CHECK(choice.chosen == 2);
  CHECK(choice.winner().mean == 0.45);
  CHECK(choice.winner().rung == 2);
  CHECK(choice.candidates[0].rung == 1);
  CHECK(choice.candidates[0].mean == 0.5);
  CHECK(choice.runs() == 6);
  CHECK(choice.gradients() == 4 * 100 + 2 * 200);
  CHECK(choice.edges.empty());
  CHECK(best_of(selection, 3, names) == Cells{{"a", "b", "c", ""}});  // those of this rung first
  CHECK(tried_words(choice) == "4 values, 6 runs, 800 gradients");
  CHECK_THAT(selection_notes(selection, true).front().text,
             ContainsSubstring("4 values, 6 runs, 800 gradients each; by successive halving, the "
                               "same for every algorithm: 4 values with 1/4 of the budget, then 2 "
                               "with 1/2 of the budget"));
  const json document = to_json(selection);
  CHECK(document["rungs"][1] == json{{"share", 0.5}, {"values", 2}});
  CHECK(document["choices"][0]["gradients"] == 800);
  CHECK(to_json(selection_from(document)) == document);
}

TEST_CASE("means that are equal to rounding tie, and the smaller value is chosen") {
  const auto chosen = [](const std::vector<std::optional<double>>& losses) {
    return first_rung({"first", 100, losses}).choices[0].chosen;
  };
  for (const double off : {1e-8, -1e-8}) CHECK(chosen({0.5, 0.3 + off, 0.3, 0.4}) == 1);
  CHECK(chosen({0.5, 0.3 + 1e-5, 0.3, 0.4}) == 2);
  // The floor is 2.9e-7 here. Two ties in a row are no tie with the best.
  CHECK(chosen({0.5, 0.3 + 4e-7, 0.3 + 2e-7, 0.3}) == 2);
  const Cells names{{"a", "b", "c", "d"}};
  CHECK(best_of(first_rung({"first", 100, {0.5, 0.3 + 1e-8, 0.3, 0.4}}), 1, names) ==
        Cells{{"", "b", "", ""}});
  Runs runs = RungOfRates{"first", 100, {0.5, 0.3, 0.3 - 1e-5, 0.4}}.runs();
  for (ComparedRun& one : runs) one.rounding.starts["validation_loss"] = 3000;
  const Cells cells = RungOfRates{"first", 100, {0.5, 0.3, 0.3, 0.4}}.cells();
  CHECK(select(runs, cells, {"optimizer.learning_rate"}, "validation_loss", {}).choices[0].chosen ==
        1);  // far below its start
}

TEST_CASE("a value that diverged in a rung loses to one that did not, and on the edge it is said") {
  Selection selection = first_rung({"first", 100, {0.5, 0.0, 0.4, 0.3}});
  const RungOfRates second{"second", 200, {{}, {}, 0.9, 0.0}};
  judge_again(selection, second.runs(), second.cells());
  CHECK(selection.choices[0].chosen == 2);
  selection = first_rung({"first", 100, {0.5, 0.0, 0.4, 0.3}});
  const RungOfRates other{"second", 200, {{}, {}, 0.9, 0.2}};
  judge_again(selection, other.runs(), other.cells());
  CHECK(selection.choices[0].edges == std::vector<std::string>{"optimizer.learning_rate"});
  CHECK_THAT(tried_words(selection.choices[0]), ContainsSubstring("the largest of 4"));
}

TEST_CASE("what an earlier acid chose is read without rungs and gradients") {
  json document = to_json(first_rung({"first", 100, {0.5, 0.3, 0.4, 0.0}}));
  document.erase("rungs");
  for (json& candidate : document["choices"][0]["candidates"])
    for (const char* key : {"rung", "runs", "gradients"}) candidate.erase(key);
  const Selection read = selection_from(document);
  CHECK(read.rungs.empty());
  CHECK(tried_words(read.choices[0]) == "4 values, 4 runs");
}

TEST_CASE("unequal gradients at a setting are told, and unequal ones of several settings are not") {
  Selection selection = first_rung({"first", 100, {0.5, 0.3}});
  selection.choices.push_back(selection.choices[0]);
  selection.choices[1].label = "other";
  for (Selection::Candidate& candidate : selection.choices[1].candidates) candidate.gradients = 50;
  const auto notes = [&] {
    std::string all;
    for (const ComparedNote& note : selection_notes(selection, true)) all += note.text + "\n";
    return all;
  };
  CHECK_THAT(notes(),
             ContainsSubstring("unequal searches: ad-psgd 2 values, 2 runs, 200 gradients; "
                               "other 2 values, 2 runs, 100 gradients"));
  selection.choices[0].settings = {{"workers.count", 8}};
  selection.choices[1].settings = {{"workers.count", 4}};
  CHECK_THAT(notes(), ContainsSubstring("2 values, 2 runs each, with as many gradients for every "
                                        "algorithm at a setting"));
  CHECK_THAT(notes(), !ContainsSubstring("unequal"));
  selection.choices[1].settings = {{"workers.count", nullptr}};  // it reads no such setting
  CHECK_THAT(notes(), ContainsSubstring("unequal"));
}

TEST_CASE("diverged values lose, and ties go to the smaller value") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  for (ComparedRun& one : runs)
    if (one.settings["optimizer"]["learning_rate"] == 0.2 && one.summary.seed == 1) {
      one.summary.state = RunState::diverged;
      one.summary.metrics.clear();
    }
  // 0.1 and 0.4 are as far from the best.
  const Comparison comparison = compare_runs(runs, best_over({1, 2}));
  const Selection::Choice& choice = comparison.selections[0].choices[0];
  CHECK(rate_of(comparison.groups[0]) == 0.1);
  CHECK(choice.candidates[2].diverged == 1);
  std::reverse(runs.begin(), runs.end());
  CHECK(rate_of(compare_runs(runs, best_over({1, 2})).groups[0]) == 0.1);
}

TEST_CASE("unequal searches are told, as are keys that nobody has and that do not vary") {
  Runs runs;
  add(runs, "ar-sgd", 0.2);
  add(runs, "ad-psgd", 0.1, "ring", {0.05, 0.1});
  CHECK(noted(compare_runs(runs, best_over({1, 2})),
              "unequal searches: ar-sgd 4 values, 8 runs; ad-psgd 2 values, 4 runs"));
  CompareOptions options = best_over({1, 2});
  options.best_over = {"optimizer.learning_rte"};
  CHECK_THROWS_WITH(compare_runs(runs, options),
                    ContainsSubstring("--best-over: no run here has the setting "
                                      "'optimizer.learning_rte', did you mean "
                                      "optimizer.learning_rate?"));
  options.best_over = {"topology.kind"};
  CHECK_THROWS_WITH(compare_runs(runs, options), ContainsSubstring("have the same topology.kind"));
}

// Two algorithms that are really the same: for any rates, neither is better. Rates differ little
// and every run has random luck, so the choice of rates is luck, too.
TEST_CASE("in 500 null studies the rates chosen differ, and 5 in 100 differences are claimed",
          "[release]") {
  constexpr int kStudies = 500;
  int claimed = 0, different = 0, refused = 0;
  for (int study = 0; study < kStudies; ++study) {
    Runs runs;
    std::uint64_t drawn = 0;
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      for (const double rate : {0.05, 0.1, 0.2, 0.4})
        for (std::uint64_t seed = 1; seed <= 8; ++seed) {
          Stream luck(derive_seed(static_cast<std::uint64_t>(study), 0, Purpose::data_set),
                      ++drawn);
          const double level = 0.3 + 0.02 * std::abs(std::log(rate / 0.15));
          const double validation = level + 0.05 * luck.normal();
          runs.push_back(run(
              algorithm, seed,
              {{"validation_loss", validation}, {"eval_loss", validation + 0.02 * luck.normal()}},
              settings_of(rate)));
        }
    const Comparison comparison = compare_runs(runs, best_over({1, 2}));
    REQUIRE(comparison.groups.size() == 2);
    different += rate_of(comparison.groups[0]) != rate_of(comparison.groups[1]) ? 1 : 0;
    const ComparedDifference* const difference =
        find_difference(comparison, comparison.groups[1].group, "eval_loss");
    REQUIRE(difference != nullptr);
    CHECK(difference->value.pairs == 6);
    const Judgement judgement = judge(*difference);
    claimed += judgement == Judgement::better || judgement == Judgement::worse ? 1 : 0;
    try {
      compare_runs(runs, best_over({}));
    } catch (const UsageError&) {
      ++refused;
    }
  }
  INFO(claimed << " of " << kStudies << " claimed, the rates differ in " << different);
  CHECK(different > kStudies / 2);
  CHECK(claimed <= kStudies / 20);
  CHECK(refused == kStudies);
}
