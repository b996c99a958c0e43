#include "reports/predicted.hpp"

#include <cmath>

#include "reports/html/report_data.hpp"
#include "tests/catch.hpp"
#include "tests/reports/recorded_run.hpp"

namespace acid::synthetic {
namespace {

PredictedValue value(const std::string& quantity, std::optional<double> time, double mean,
                     double half) {
  return {quantity, time, mean, mean - half, mean + half, {mean - half / 2, mean + half / 2}};
}

}  // namespace

TEST_CASE("the score of draws is their distance less half of their spread, by hand") {
  CHECK(crps(std::vector{2.0}, 5) == 3);
  CHECK(crps(std::vector{4.0, 4.0, 4.0}, 4) == 0);
  CHECK(crps(std::vector{0.0, 2.0}, 1) == 0);                         // 1 − ½ · 2
  CHECK(crps(std::vector{1.0, 2.0, 3.0}, 0) == Approx(2 - 2.0 / 3));  // ½ (1 + 1 + 2) · 2 / 6
  CHECK(std::isnan(crps({}, 1)));
}

TEST_CASE("the fair score favours the distribution that the truth is from") {
  // Uniform truths on a grid; draws of the same, of a narrower and of a wider distribution.
  const auto mean_score = [](double width) {
    double sum = 0;
    for (int truth = -50; truth <= 50; ++truth)
      for (int a = -20; a <= 20; ++a)
        for (int b = -20; b <= 20; ++b)
          sum += crps(std::vector{width * a / 20, width * b / 20}, truth / 50.0);
    return sum;
  };
  CHECK(mean_score(1) < mean_score(0.5));
  CHECK(mean_score(1) < mean_score(2));
}

TEST_CASE("predictions are scored where runs were sampled, on the line between, and at their end") {
  RecordedRuns runs(3);
  // At time t: t/10 seconds, 8t bytes.
  const std::vector<PredictedValue> values{
      value("seconds", {}, 2, 0.5),      value("bytes", {}, 240, 10),
      value("eval_loss", 0, 1, 0.1),     value("eval_loss", 10, 0.5, 0.2),
      value("eval_loss", 21, 0.2, 0.15), value("no_such_metric", 4, 1, 1)};
  CHECK(runs.store.add_predictions({{runs.ids[0], "abc", values}, {runs.ids[1], "abc", values}}) ==
        2);
  runs.record(0, "eval_loss", {{0, 1.05}, {9, 0.7}, {11, 0.5}, {20, 0.1}});
  runs.record(1, "eval_loss", {{0, 1.2}, {10, 0.5}, {22, 0.3}});
  runs.record(2, "eval_loss", {{0, 1}, {20, 0.2}});
  runs.finish(0, 20);
  runs.finish(1, 22);
  runs.finish(2, 20);
  const Comparison comparison = compare(runs.store, AskedRuns(runs.ids));
  const PredictionScores scores = score_predictions(runs.store, comparison);
  CHECK(scores.without == std::vector{runs.ids[2]});
  CHECK(scores.late.empty());
  REQUIRE(scores.groups.size() == 1);
  const std::vector<ScoreRow> rows = score_rows(comparison, scores);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].quantity == "seconds");
  CHECK(rows[0].measured == Approx(2.1));
  CHECK(rows[0].error == Approx(2 / 2.1 - 1));
  CHECK(rows[0].inside == 2);
  CHECK(rows[1].quantity == "bytes");
  CHECK(rows[1].measured == Approx(168));
  CHECK(rows[1].inside == 0);
  CHECK(score_name(rows[2]) == "eval_loss at the end");
  CHECK(rows[2].measured == Approx(0.2));  // though one ended before time 21, the other after
  CHECK(rows[2].inside == 2);
  CHECK(score_name(rows[3]) == "eval_loss, every evaluation");
  CHECK(rows[3].values == 4);  // without the start
  CHECK(rows[3].inside == 4);  // 0.6 is in [0.3, 0.7]
  CHECK(inside_of(rows) == std::pair(2 + 4, 2 + 2 + 4));
  const auto notes = score_notes(rows, scores);
  CHECK_THAT(notes.at(0), ContainsSubstring("simulated runs with other seeds (experiment abc)"));
  CHECK_THAT(notes.at(1), ContainsSubstring("6 of these 8 values (75 %)"));
  CHECK_THAT(notes.back(), ContainsSubstring("1 run not predicted"));
  // Whatever was predicted, it cannot be changed now.
  CHECK(runs.store.add_predictions({{runs.ids[2], "", values}}) == 0);
  const std::string page = render_report(runs.store, AskedRuns(runs.ids));
  CHECK(has(page, "<section id=\"predicted\">"));
  CHECK(has(page, "eval_loss, every evaluation"));
}

TEST_CASE("a page without predictions says nothing of them") {
  RecordedRuns runs(1);
  runs.record(0, "eval_loss", {{0, 1}, {20, 0.2}});
  runs.finish(0, 20);
  CHECK_FALSE(has(render_report(runs.store, AskedRuns(runs.ids)), "id=\"predicted\""));
}

}  // namespace acid::synthetic
