#include "reports/realised_rate.hpp"

#include "reports/compare.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

ComparedRun run_with(double exchanges, std::int64_t gradients, std::uint64_t seed) {
  ComparedRun run;
  run.summary.id = "run" + std::to_string(seed);
  run.summary.group = "g";
  run.summary.label = run.summary.algorithm = "ad-psgd";
  run.summary.seed = seed;
  run.summary.state = RunState::finished;
  run.summary.progress.gradients = gradients;
  run.summary.metrics["eval_loss"] = 1;
  run.settings = {{"algorithm", {{"kind", "ad-psgd"}, {"communication_rate", 1.0}}},
                  {"workers", {{"count", 16}}}};
  run.realised_rate = 2 * exchanges / static_cast<double>(gradients);
  return run;
}

bool notes_say(const std::vector<ComparedRun>& runs, const std::string& words) {
  for (const ComparedNote& note : compare_runs(runs).notes)
    if (note.text.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a rate of exchanges that is more than 5 % off is said, and whether chance explains it") {
  CHECK_FALSE(rate_doubt(1, 0.96, 4000));
  CHECK_FALSE(rate_doubt(2, 2.09, 4000));
  CHECK_THAT(rate_doubt(1, 0.538, 4000).value(),
             ContainsSubstring("0.538 exchanges per gradient instead of 1 (-46 %)") &&
                 ContainsSubstring("not quite the method"));
  CHECK_THAT(rate_doubt(1, 1.1, 100).value(), ContainsSubstring("chance"));
  CHECK_FALSE(rate_doubt(1, 0, 0));
  CHECK_THAT(
      rate_doubt(16, 20, 4000, true).value(),
      ContainsSubstring("as many as the network carried, where the plan expected 16 (+25 %)"));
}

TEST_CASE("a comparison notes a group that ran at another rate than its own") {
  CHECK(notes_say({run_with(1076, 4000, 1), run_with(1100, 4000, 2)},
                  "ad-psgd: 0.544 exchanges per gradient instead of 1"));
  CHECK_FALSE(notes_say({run_with(2010, 4000, 1)}, "exchanges per gradient"));
}
