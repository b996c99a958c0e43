// The line of `acid run` about runs under way: its counts, names and estimates.
#include "cli/terminal/progress.hpp"

#include "reports/text_table.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

class SetClock final : public Clock {
 public:
  double seconds() const override { return now; }
  double now = 0;
};

RunSummary run_of(const std::string& id, std::int64_t gradients, const std::string& algorithm) {
  RunSummary run;
  run.id = id;
  run.algorithm = run.label = algorithm;
  run.seed = 1;
  run.state = RunState::running;
  run.budget_gradients = 1000;
  run.progress.gradients = gradients;
  return run;
}

const std::map<std::string, SettingName> kSettings{
    {"a", {"learning_rate 0.1, ring, workers 16", "0.1, ring, 16"}},
    {"b", {"learning_rate 0.1, workers 16", "0.1, 16"}}};

struct Line {
  explicit Line(std::size_t runs)
      : progress(clock, runs, 1000.0 * static_cast<double>(runs), kSettings, true) {}
  std::string at(double seconds, const std::vector<RunSummary>& running, int columns = 200) {
    clock.now = seconds;
    return progress.line(running, columns);
  }
  SetClock clock;
  Progress progress;
};

}  // namespace

TEST_CASE("progress counts what failed as failed, not as done") {
  Line line(9);
  for (const char* id : {"x", "y", "z"}) line.progress.run_ended(run_of(id, 1000, "ad-psgd"));
  line.progress.run_failed();
  CHECK_THAT(line.at(1, {}), ContainsSubstring("2 of 9 runs done, 1 failed"));
}

TEST_CASE("progress names the settings, in as many words as there is room for") {
  const std::vector<RunSummary> both{run_of("a", 210, "ad-psgd"), run_of("b", 620, "ar-sgd")};
  Line line(9);
  CHECK(line.at(0, both) ==
        "[----------] 0 of 9 runs done, ad-psgd (learning_rate 0.1, ring, workers 16) seed 1 at "
        "21 %, ar-sgd (learning_rate 0.1, workers 16) seed 1 at 62 %");
  CHECK(line.at(0, both, 119) ==
        "[----------] 0 of 9 runs done, ad-psgd (0.1, ring, 16) seed 1 at 21 %, ar-sgd (0.1, 16) "
        "seed 1 at 62 %");
  CHECK(line.at(0, both, 79) ==
        "[----------] 0 of 9 runs done, ad-psgd (0.1, ring, 16) seed 1 at 21 %, 1 more");
  CHECK(line.at(0, both, 66) == "0 of 9 runs done, ad-psgd (0.1, ring, 16) seed 1 at 21 %, 1 more");
  // A line that is too long is cut at its end.
  CHECK(line.at(0, both, 40).starts_with("0 of 9 runs done, 2 running: ad-psgd"));
}

TEST_CASE("progress says what is left when it knows, not under what a run needs by itself") {
  Line line(2);
  const auto running = [](std::int64_t gradients) {
    return std::vector{run_of("b", gradients, "ar-sgd")};
  };
  CHECK_THAT(line.at(1, running(400)), !ContainsSubstring("left"));
  CHECK_THAT(line.at(4, running(900)), !ContainsSubstring("left"));  // too early
  CHECK_THAT(line.at(6, running(900)), ContainsSubstring("about 10 s left"));
  CHECK_THAT(line.at(9, running(930)), ContainsSubstring("about 10 s left"));  // slower, softened
  line.progress.run_ended(run_of("b", 1000, "ar-sgd"));
  // All remaining runs are under way, and their pace is unknown: one as fast as the first took 6 s.
  const auto last = [](std::int64_t gradients) {
    return std::vector{run_of("a", gradients, "ad-psgd")};
  };
  CHECK_THAT(line.at(10, last(0)), !ContainsSubstring("left"));
  CHECK_THAT(line.at(11, last(10)), !ContainsSubstring("left"));
  CHECK_THAT(line.at(13, last(70)), ContainsSubstring("about 35 s left"));
}

TEST_CASE("an estimate has no more digits than it is worth") {
  CHECK(time_left(0.2).empty());
  CHECK(time_left(3.1) == ", about 5 s left");
  CHECK(rough_seconds(31) == "35 s");
  CHECK(rough_seconds(130) == "2.5 min");
  CHECK(rough_seconds(1000) == "20 min");
}
