// The size below which a difference is rounding, from the run's steps and exchanges.
#include "reports/rounding.hpp"

#include <algorithm>
#include <cmath>

#include "engine/methods/method.hpp"
#include "reports/compare.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;

namespace {

json settings_with(const char* peers, bool keeps, double rate = 0.05) {
  json settings{
      {"algorithm", {{"kind", "m"}, {"listing", {{"peers", peers}, {"keep", json::object()}}}}},
      {"optimizer", {{"learning_rate", rate}}},
      {"task", {{"dataset", {{"kind", "quadratic"}, {"curvature", 1.0}}}}}};
  if (keeps) settings["algorithm"]["listing"]["keep"]["y"] = "0";
  return settings;
}

RunSummary run_after(std::int64_t gradients, int workers) {
  RunSummary run;
  run.algorithm = "m";
  run.workers = workers;
  run.progress.gradients = gradients;
  return run;
}

double floor_of(const RunRounding& rounding, double value) {
  return rounding_floor(rounding, rounding, "eval_loss", value, value, 0);
}

}  // namespace

TEST_CASE("the floor grows with the root of steps and exchanges, and workers average it") {
  const RunRounding few = rounding_of(run_after(800, 8), settings_with("neighbours", false));
  CHECK(few.steps == 100);
  CHECK(few.exchanges == 100);
  CHECK(few.parameters == Approx(4 * 0x1p-24 * std::sqrt(200.0 / 8)));
  const RunRounding many = rounding_of(run_after(80'000, 8), settings_with("neighbours", false));
  CHECK(many.parameters == Approx(10 * few.parameters));
  const RunRounding all = rounding_of(run_after(800, 8), settings_with("all", false));
  CHECK(all.parameters == Approx(std::sqrt(8.0) * few.parameters));

  RunSummary gossip = run_after(800, 8);
  gossip.metrics["exchanges"] = 1600;
  CHECK(rounding_of(gossip, settings_with("pairs", false)).exchanges == 400);
}

TEST_CASE("an all-reduce of a named method gives every worker the same errors") {
  const auto floor = [](const char* name) {
    RunSummary run = run_after(800, 8);
    run.algorithm = name;
    return rounding_of(run, {{"algorithm", {{"kind", name}}}}).parameters;
  };
  CHECK(floor("ar-sgd") == Approx(std::sqrt(8.0) * floor("d-psgd")));
}

TEST_CASE("a run that met nobody yet has the rounding of the exchanges that its method plans") {
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    INFO(entry.name);
    RunSummary run = run_after(800, 8);
    run.algorithm = entry.name;
    json options = with_fallbacks(entry.fields, json::object());
    options["kind"] = entry.name;
    const RunRounding planned =
        rounding_of(run, {{"algorithm", options}, {"optimizer", {{"learning_rate", 0.1}}}});
    CHECK(planned.steps == 100);
    CHECK(planned.exchanges > 0);
    CHECK(std::isfinite(planned.parameters));
  }
}

TEST_CASE("methods that correct their steps by what they keep sum their errors up") {
  const auto reach = [](std::int64_t gradients, double rate) {
    return rounding_of(run_after(gradients, 8), settings_with("neighbours", true, rate))
               .parameters /
           rounding_of(run_after(gradients, 8), settings_with("neighbours", false, rate))
               .parameters;
  };
  CHECK(reach(16'000, 0.05) == Approx(20));  // until the gradient works against it
  CHECK(reach(80, 0.05) == Approx(10));      // as many steps as there were
}

TEST_CASE("near an optimum the size of the parameters decides, not that of the loss") {
  RunRounding rounding;
  rounding.parameters = 1e-6;
  CHECK(floor_of(rounding, 2) == Approx(8e-6).epsilon(1e-4));
  rounding.starts["eval_loss"] = 8;
  CHECK(floor_of(rounding, 0) == Approx(4e-12 * 8));
  CHECK(floor_of(rounding, 8e-6) == Approx(4e-6 * 8e-3).epsilon(1e-2));
  CHECK(rounding_floor(rounding, rounding, "eval_loss", INFINITY, 1, 0) == 0);
  for (const char* counted : {"seconds", "bytes", "gradients", "exchanges", "staleness"})
    CHECK(rounding_floor(rounding, rounding, counted, 100, 100, 0) == 0);
}

TEST_CASE("a target moves by what its metric moves, divided by the slope of the curve") {
  RunRounding rounding;
  rounding.parameters = 1e-6;
  rounding.starts[kTargetStart] = 8;
  rounding.per_unit["gradients_to_target"] = 1e4;
  CHECK(rounding_floor(rounding, rounding, "gradients_to_target", 100, 100, 0.02) ==
        Approx(1e4 * 4e-6 * std::sqrt(0.16)).epsilon(1e-3));
}

TEST_CASE("what is rounding after thousands of steps is none after ten, and a note says which") {
  const auto compared = [](std::int64_t gradients) {
    std::vector<ComparedRun> runs;
    for (std::uint64_t seed = 1; seed <= 8; ++seed)
      for (const char* algorithm : {"ar-sgd", "m"}) {
        const double loss = 0.5 + 0.01 * static_cast<double>(seed);
        runs.push_back(synthetic::run(
            algorithm, seed, {{"eval_loss", algorithm[0] == 'm' ? loss * (1 + 2e-5) : loss}},
            settings_with("all", false)));
        runs.back().summary.workers = 8;
        runs.back().summary.progress.gradients = gradients;
      }
    return compare_runs(runs);
  };
  const Comparison few = compared(80), many = compared(80'000);
  CHECK(judge(few.differences.front()) == Judgement::worse);
  CHECK(judge(many.differences.front()) == Judgement::equal);
  CHECK(few.differences.front().improvement->value == 28 / 64.0);
  CHECK(many.differences.front().improvement->value == 0.5);
  CHECK(headline(many, many.points.front()).result ==
        "All had the same evaluation loss, to rounding.");
  const auto note = std::ranges::find_if(many.notes, [](const ComparedNote& one) {
    return has(one.text, "are rounding and decide nothing: parameters of 32 bits, 10000 steps");
  });
  REQUIRE(note != many.notes.end());
  CHECK(has(verdict_sentences(many).front(), "to rounding (differences up to "));
  CHECK(has(to_markdown(many), note->text));
  CHECK(to_json(many)["differences"][0]["rounding"].get<double>() > 1e-5);
}
