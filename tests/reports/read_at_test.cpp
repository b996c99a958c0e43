#include "reports/read_at.hpp"

#include <cmath>
#include <regex>

#include "reports/compare.hpp"
#include "reports/compare_notes.hpp"
#include "reports/readings.hpp"
#include "store/writer.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;

namespace {

constexpr const char* kId = "0123456789ab";

/// One run whose accuracy falls again at the end: samples at gradients 10, 20, … and times 1, 2, …;
/// or a run of exchanges alone.
class OneRun {
 public:
  /// As above, with the first samples `missing`.
  explicit OneRun(bool has_gradients = true, int missing = 0) {
    const std::int64_t gradients = has_gradients ? 10 : 0;
    RunRecord run;
    run.id = kId;
    run.digest = std::string(64, '1');
    run.group = std::string(64, '2');
    run.algorithm = run.label = "ad-psgd";
    run.settings = {{"algorithm", {{"kind", "ad-psgd"}}}};
    run.settings["budget"] = {{"normalised_time", 5.5}};
    run.budget_gradients = has_gradients ? 10 * missing + 55 : 0;
    ExperimentRecord experiment;
    experiment.id = experiment.name = "e";
    store_.add_experiment(experiment, {run});
    const std::int64_t attempt = store_.begin_attempt(kId, Lease::of_this_process(), {}, {}, {});
    RunWriter writer(folder_.path(), kId, attempt);
    int k = missing;
    for (const double value : {0.5, 0.8, std::nan(""), 0.9, 0.7}) {
      ++k;
      const Position position{gradients * k, 1.0 * k, 0.5 * k, 100LL * k};
      const std::vector<Value> values{{"eval_accuracy", kWholeRun, value},
                                      {"eval_loss", kWholeRun, value},
                                      {"exchanges", kWholeRun, 3.0 * k},
                                      {"consensus_distance", kWholeRun, 1.0 * k}};
      writer.sample(position, values);
    }
    writer.flush();
    AttemptResult result;
    result.position = {run.budget_gradients, missing + 5.5, missing / 2.0 + 2.75,
                       100LL * missing + 550};
    store_.end_attempt(attempt, result);
  }

  ComparedRun read(const char* at, CompareOptions options = {}) const {
    options.at = parse_read_at(at);
    const nlohmann::json settings{{"algorithm", {{"kind", "ad-psgd"}}}};
    std::vector<ComparedRun> runs{
        read_compared_run(store_, run_summaries(store_, {kId}).front(), settings, options)};
    read_in_points(store_, runs, options, {});
    return runs.front();
  }
  /// −1 if the run has no such metric.
  double value(const char* at, const char* metric = "eval_accuracy",
               const char* target = "") const {
    CompareOptions options;
    options.derive_all = true;
    options.metrics = {metric};
    if (*target != '\0') options.target = parse_target(target);
    const ComparedRun run = read(at, options);
    const auto found = run.summary.metrics.find(metric);
    return found == run.summary.metrics.end() ? -1 : found->second;
  }

 private:
  synthetic::Folder folder_;
  Store store_{folder_.path(), Store::Access::write};
};

}  // namespace

TEST_CASE("a metric is read where one asks: last, best, or by then on any axis") {
  const OneRun run;
  CHECK(run.value("last") == 0.7);
  CHECK(run.value("best") == 0.9);
  CHECK(run.value("best", "eval_loss") == 0.5);
  CHECK(run.value("best", "exchanges") == 15);  // neither direction is better
  CHECK(run.value("gradients=20") == 0.8);
  CHECK(run.value("gradients=50") == 0.7);
  CHECK(run.value("seconds=2.5") == 0.7);
  CHECK(run.value("bytes=1e2") == 0.5);
  CHECK(run.value("gradients=5") == -1);  // before the first sample
  CHECK(run.value("gradients=55") == 0.7);
  CHECK(run.value("gradients=56") == -1);  // the run did not get there
}

TEST_CASE("a run that the clock ended stands at its last state until its limit") {
  RunSummary run;
  run.budget_gradients = 1000;
  run.progress = {.gradients = 400, .normalised_time = 40, .seconds = 19.5, .bytes = 0};
  const nlohmann::json limited{{"budget", {{"seconds", 20.5}}}};
  const auto end = [&](PositionAxis axis, const nlohmann::json& settings) {
    return end_on(axis, run, settings);
  };
  CHECK(end(PositionAxis::seconds, limited) == Approx(20.5));
  CHECK(end(PositionAxis::gradients, limited) == Approx(400));
  CHECK(end(PositionAxis::seconds, {}) == Approx(19.5));
  run.message = "target reached: eval_loss ≤ 0.5";
  CHECK(end(PositionAxis::seconds, limited) == Approx(19.5));
  run.progress.gradients = 1000;
  run.message = "";
  CHECK(end(PositionAxis::seconds, limited) == Approx(19.5));
  run.progress.seconds = 20.5 * (1 - 1e-15);  // as a sum of many durations may be
  CHECK(end(PositionAxis::seconds, limited) >= 20.5);
}

TEST_CASE("between two samples a metric is on the line through them") {
  const OneRun run(true, 40);
  CHECK(run.value("gradients=445") == Approx(0.8));
  CHECK(run.value("seconds=22.25") == Approx(0.8));
  CHECK(run.value("gradients=445", "exchanges") == Approx(133.5));
  CHECK(run.value("seconds=22.25", "gradients") == 445);
  CHECK(run.value("seconds=22.25", "bytes") == 4450);
  CHECK(run.value("time=44.5", "consensus_distance") == Approx(44.5));
  CHECK(run.value("time=42.5") == -1);  // one of the samples beside it is not a number
  CHECK(run.value("time=42") == 0.8);
}

TEST_CASE(
    "how well a value is known: how far its samples are apart, and the metric's steps there") {
  const OneRun run(true, 40);  // samples at 410, 420, … of 0.5, 0.8, NaN, 0.9, 0.7
  const ComparedRun read = run.read("gradients=445");
  CHECK(read.readings.at("eval_accuracy").apart == 10);
  CHECK(read.readings.at("eval_accuracy").resolution == Approx(0.2));
  CHECK(read.readings.at("consensus_distance").resolution == Approx(1));
  CHECK(run.read("seconds=22.25").readings.at("eval_accuracy").apart == Approx(0.5));
  CHECK(run.read("gradients=440").readings.at("eval_accuracy").apart == 0);
  CHECK(run.read("gradients=440").readings.at("eval_accuracy").resolution == 0);
  const ComparedRun beside = run.read("time=42.5");
  CHECK_FALSE(beside.summary.metrics.contains("eval_accuracy"));
  CHECK(beside.not_read.at("eval_accuracy") == std::nullopt);
}

TEST_CASE("a value from far away is refused, with the run, the gap and what to do") {
  const OneRun run;
  for (const char* at : {"gradients=29", "time=1.5", "seconds=1.25"}) {
    INFO(at);
    const ComparedRun read = run.read(at);
    CHECK(read.summary.metrics.size() == 1);  // consensus_distance_mid has no place
    CHECK(read.not_read.contains("consensus_distance"));
    CompareOptions options;
    options.at = parse_read_at(at);
    CHECK_THROWS_WITH(compare_runs({read}, options),
                      ContainsSubstring(std::string("run ") + kId + ", seed 0") &&
                          ContainsSubstring("apart") && ContainsSubstring("every_seconds"));
  }
  CompareOptions late;
  late.at = parse_read_at("gradients=56");
  CHECK_THROWS_WITH(compare_runs({run.read("gradients=56")}, late),
                    ContainsSubstring("no run has a value at 56 gradients; read earlier"));
}

TEST_CASE("one stale run costs its own value alone, and a note names it") {
  const OneRun stale, fine(true, 40);
  CompareOptions options;
  options.at = parse_read_at("gradients=29");
  ComparedRun far = stale.read("gradients=29"), near = fine.read("gradients=445");
  near.summary.group = "other";
  near.summary.label = "a2cid2";
  const Comparison comparison = compare_runs({far, near}, options);
  CHECK_FALSE(comparison.groups[0].metrics.contains("consensus_distance"));
  CHECK(comparison.groups[1].metrics.contains("consensus_distance"));
  const std::string text = to_text(comparison, false);
  INFO(text);
  const std::string flat = std::regex_replace(text, std::regex("\\s+"), " ");
  CHECK(
      synthetic::has(flat, std::string("samples around there are up to 10 gradients apart (run ") +
                               kId + ", seed 0), more than a fifth of the way there"));
  CHECK(synthetic::has(flat, "known to within 1 (a2cid2, between samples 10 gradients apart)"));
  CHECK(to_json(comparison)["groups"][1]["metrics"]["consensus_distance"]["resolution"] ==
        Approx(1));
}

TEST_CASE("totals are those of the run's end or of the place asked for") {
  const OneRun run;
  CHECK(run.value("last", "gradients") == 55);
  CHECK(run.value("best", "bytes") == 550);
  CHECK(run.value("gradients=29", "gradients") == -1);  // no sample is near
  CHECK(OneRun(true, 40).value("gradients=445", "bytes") == 4450);
  CHECK(run.value("time=2", "gradients_per_second") == 20);
  CHECK(run.value("time=9", "gradients") == -1);
}

TEST_CASE("the middle of a run is that of its budget, in gradients or, without any, in time") {
  for (const bool has_gradients : {true, false}) {
    const OneRun run(has_gradients);
    CHECK(run.value("last", "consensus_distance_mid") == 2);  // of five values, from 1.1 to 2.75
    CHECK(run.value("time=3", "consensus_distance") == 3);
  }
}

TEST_CASE("a target is reached where the line between samples first is as good") {
  const OneRun run;
  CHECK(run.value("last", "gradients_to_target", "eval_accuracy=0.74") == Approx(18));
  CHECK(run.value("last", "time_to_target", "eval_accuracy=0.74") == Approx(1.8));
  CHECK(run.value("last", "seconds_to_target", "eval_accuracy=0.74") == Approx(0.9));
  CHECK(run.value("last", "bytes_to_target", "eval_accuracy=0.74") == Approx(180));
  CHECK(run.value("last", "exchanges_to_target", "eval_accuracy=0.74") == Approx(5.4));
  // The sample before is not a number.
  CHECK(run.value("last", "time_to_target", "eval_accuracy=0.85") == 4);
  CHECK(run.value("last", "seconds_to_target", "eval_accuracy=0.85") == 2);
  CHECK(run.value("last", "bytes_to_target", "eval_accuracy=0.85") == 400);
  CHECK(run.value("last", "exchanges_to_target", "eval_accuracy=0.85") == 12);
  CHECK(run.value("last", "gradients_to_target", "eval_accuracy=0.95") == -1);
  CHECK(run.value("last", "gradients_to_target", "eval_loss=0.75") == 10);
}

TEST_CASE("a target has its tables beside a metric that is asked for, also where none reached it") {
  std::vector<ComparedRun> runs;
  for (const std::uint64_t seed : {1, 2, 3}) {
    runs.push_back(synthetic::run("ar-sgd", seed, {{"eval_loss", 0.4}, {"seconds_to_target", 7}}));
    runs.back().readings["seconds_to_target"] = {2.0 * static_cast<double>(seed),
                                                 2.0 * static_cast<double>(seed)};
    runs.push_back(synthetic::run("ad-psgd", seed, {{"eval_loss", 9}}));
  }
  CompareOptions options;
  options.metrics = {"eval_loss"};
  options.target = Target{"eval_loss", 0.5};
  const Comparison comparison = compare_runs(runs, options);
  CHECK(comparison.metrics == std::vector<std::string>{"eval_loss", "gradients_to_target",
                                                       "time_to_target", "seconds_to_target",
                                                       "bytes_to_target"});
  const std::string text = to_text(comparison, false);
  INFO(text);
  CHECK(synthetic::has(text, "known to within 6 s (ar-sgd, between samples 6 s apart)"));
  CHECK(to_json(comparison)["groups"][0]["metrics"]["seconds_to_target"]["resolution"] == 6);
}

TEST_CASE("the area under a curve is a mean height along the axis asked for") {
  const OneRun run;
  CHECK(std::isnan(run.value("last", "auc_eval_accuracy")));  // a sample is not a number
  // Level at 0.5 up to 10, then a straight line to 0.8 at 20.
  CHECK(run.value("gradients=20", "auc_eval_accuracy") == Approx((5 + 6.5) / 20));
  CHECK(run.value("gradients=15", "auc_eval_loss") == Approx((5 + 5 * 0.575) / 15));
  CHECK(run.value("time=1.5", "auc_eval_accuracy") == Approx((0.5 + 0.5 * 0.575) / 1.5));
  CHECK(run.value("gradients=4", "auc_eval_accuracy") == Approx(0.5));
  CHECK(run.value("gradients=56", "auc_eval_accuracy") == -1);
}

TEST_CASE("places on an axis have units as they are printed") {
  CHECK(parse_read_at("seconds=2.5min").value == 150);
  CHECK(parse_read_at("seconds=2.5 h").value == 9000);
  CHECK(parse_read_at("bytes=100MB").value == 1e8);
  CHECK(parse_read_at("gradients=20k").value == 20'000);
  CHECK(parse_read_at("gradients=20").value == 20);
  CHECK(parse_read_at("epochs=1.5").value == 1.5);
  CHECK(place_of(parse_read_at("epochs=1.5")) == "1.5 epochs");
}

TEST_CASE("what --at and --target cannot mean is refused, with what they can") {
  for (const char* text : {"", "first", "gradients", "steps=3", "best=2"})
    CHECK_THROWS_WITH(parse_read_at(text), ContainsSubstring("gradients=N, epochs=E, time=T"));
  for (const char* text :
       {"gradients=", "gradients=many", "time=-1", "bytes=nan", "seconds=1x", "bytes=1 min"})
    CHECK_THROWS_WITH(parse_read_at(text), ContainsSubstring("is not a number of"));
  for (const char* text : {"", "eval_accuracy", "eval_accuracy=", "eval_accuracy=high"})
    CHECK_THROWS_WITH(parse_target(text), ContainsSubstring("eval_accuracy=0.9"));
  CHECK_THROWS_WITH(parse_target("eval_top2=0.9"),
                    ContainsSubstring("a high or a low 'eval_top2'"));
}
