#include "reports/heading.hpp"

#include "reports/pivot.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

namespace {

ComparedRun ring_run(std::uint64_t seed) {
  ComparedRun run =
      synthetic::run("ar-sgd", seed, {{"eval_loss", 1}},
                     {{"task", {{"dataset", {{"kind", "quadratic"}, {"dimension", 64}}}}}});
  run.summary.experiment_name = "first";
  run.summary.topology = "ring";
  run.summary.workers = 16;
  run.summary.driver = "virtual";
  return run;
}

}  // namespace

TEST_CASE("a heading names experiment, data, graph, workers, driver and seeds") {
  const std::vector<ComparedRun> runs{ring_run(1), ring_run(2), ring_run(3)};
  const std::string heading =
      "first · quadratic(64) · ring 16 · virtual (simulated seconds) · seeds 1-3";
  CHECK(heading_of(runs) == heading);
  const Comparison comparison = compare_runs(runs);
  CHECK(to_text(comparison, false).starts_with(heading + "\n\n"));
  CHECK(to_markdown(comparison).starts_with(heading + "\n\n"));
  CHECK(has(to_latex(comparison), "% " + heading + "\n"));
  CHECK(to_json(comparison).at("heading") == heading);
}

TEST_CASE("a heading names what differs, or counts it") {
  std::vector<ComparedRun> runs{ring_run(1), ring_run(7)};
  runs[1].settings["task"]["model"] = {{"kind", "mlp"}, {"hidden", {32, 16}}};
  runs[1].summary.topology = "exponential";
  runs[1].summary.workers = 8;
  runs[1].summary.driver = "threads";
  CHECK(heading_of(runs) ==
        "first · quadratic(64) · mlp(32, 16) · ring, exponential · 8, 16 workers · virtual "
        "(simulated seconds), threads · seeds 1, 7");
  for (int k = 0; k < 6; ++k) {
    runs.push_back(ring_run(20));
    runs.back().summary.experiment_name = "no " + std::to_string(k);
    runs.back().summary.workers = 32 + k;
  }
  CHECK(has(heading_of(runs), "7 experiments · "));
  CHECK(has(heading_of(runs), " · 8 to 37 workers · "));
  CHECK(has(heading_of(runs), "seeds 1, 7, 20"));
  CHECK(heading_of({}).empty());
}

TEST_CASE("train_loss is explained where it is shown, and only there") {
  const std::vector<ComparedRun> runs{
      synthetic::run("ar-sgd", 1, {{"train_loss", 1}, {"eval_loss", 1}})};
  CompareOptions options;
  CHECK_FALSE(has(to_text(compare_runs(runs, options), false), "on its own data"));
  options.metrics = {"train_loss"};
  CHECK(
      has(to_text(compare_runs(runs, options), false), "train_loss is each worker's loss on its"));
}

TEST_CASE(
    "a heading names stragglers and a network that takes time, and what of them is compared") {
  std::vector<ComparedRun> runs{ring_run(1), ring_run(1)};
  nlohmann::json& model = runs[1].settings["execution"]["virtual"];
  model["slow_workers"] = {{"0", 10.0}};
  model["network"] = {{"latency_seconds", 0.0001}, {"bandwidth_bytes_per_second", 1e9}};
  CHECK(heading_of(runs) ==
        "first · quadratic(64) · ring 16 · virtual (simulated seconds) · no straggler or worker 0 "
        "10 × as slow · network instant or 1 GB/s, 100 µs · seed 1");
  runs.erase(runs.begin());
  CHECK(has(heading_of(runs), "seconds) · worker 0 10 × as slow · network 1 GB/s, 100 µs · seed"));
  nlohmann::json& one = runs[0].settings["execution"]["virtual"];
  one["slow_workers"] = {{"0", 4.0}, {"3", 4.0}, {"5", 2.0}};
  one["network"] = {{"edges", {{{"edge", {1, 2}}, {"latency_seconds", 0.05}}}}};
  CHECK(has(heading_of(runs),
            " · worker 5 2 × as slow, workers 0, 3 4 × as slow · network edge "
            "1-2 50 ms · "));
  for (int k = 0; k < 9; ++k) one["slow_workers"][std::to_string(k)] = 2.0;
  CHECK(has(heading_of(runs), " · 9 slow workers · "));
  runs[0].summary.driver = "threads";  // its own table names the slow workers
  CHECK_FALSE(has(heading_of(runs), "slow"));
  runs[0].settings["execution"]["threads"] = {{"slow_workers", {{"2", 3.0}}}};
  CHECK(has(heading_of(runs), " · threads · worker 2 3 × as slow · "));
  // A caption has the heading.
  runs.push_back(runs[0]);
  runs[1].summary.seed = 2;
  const Comparison comparison = compare_runs(runs);
  CHECK(has(to_latex(pivot_of(comparison, "eval_loss", {}), comparison), "worker 2 3 $"));
}
