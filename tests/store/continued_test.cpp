// Which records count of a run that was killed and continued from a checkpoint.
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;

TEST_CASE("no step has two values after a run was killed and continued twice") {
  Story story;
  story.begin_to(3);
  story.steps(4, 6);
  story.begin(story.from(1));
  story.check({1, 1, 1});
  story.steps(4, 5);
  story.checkpoint(5);
  story.steps(6, 8);
  story.kill();
  story.check({1, 1, 1, 2, 2, 2, 2, 2});
  story.begin(story.from(2));
  story.steps(6, 6);
  story.kill();
  story.check({1, 1, 1, 2, 2, 3});

  const RunDetail detail = story.detail();
  REQUIRE(detail.attempts.size() == 3);
  CHECK(detail.attempts[0].resumed_from == 0);
  CHECK(detail.attempts[1].resumed_from == 1);
  CHECK(detail.attempts[2].resumed_from == 2);
  CHECK(detail.attempts[0].outcome == "interrupted");
  CHECK(detail.attempts[1].file_digests.at(0).second == "d2");
  CHECK(detail.checkpoints.size() == 2);
}

TEST_CASE("going back further than to the newest checkpoint supersedes what came after") {
  Story story;
  story.begin_to(2);
  story.steps(3, 4);
  story.checkpoint(4);
  const Continuation second = story.from(2);
  story.begin(second);
  story.steps(5, 5);
  story.checkpoint(5);
  const Continuation third = story.from(3);
  story.begin(story.from(1));  // as when the other checkpoints' files are damaged
  story.check({1, 1});
  CHECK(story.checkpoints().size() == 1);
  story.steps(3, 3);
  story.checkpoint(3);
  CHECK(story.checkpoints().back().number == 4);
  for (const Continuation& gone : {second, third}) {
    CHECK_THROWS_WITH(story.begin(gone),
                      ContainsSubstring("superseded") && ContainsSubstring("show"));
    story.check({1, 1, 3});  // and nothing was changed
  }
  story.begin(story.from(4));
  story.steps(4, 4);
  story.kill();
  story.check({1, 1, 3, 5 + 1});
}

TEST_CASE("a fresh attempt supersedes everything, checkpoints and events too") {
  Story story;
  story.begin_to(2);
  story.begin();
  story.check({});
  CHECK(story.checkpoints().empty());
  CHECK(number(story.store, "SELECT superseded FROM attempt_list WHERE attempt = 1") == 1);
  story.steps(1, 1);
  story.checkpoint(1);
  story.kill();
  story.check({2});
  CHECK(story.checkpoints().at(0).number == 2);
}

TEST_CASE("a run can be continued from a checkpoint before its first sample") {
  Story story;
  story.begin();
  const Event event{EventKind::begin_gradient, 0.0, 0, 1001};
  story.writer().events(0, 0, {&event, 1});
  story.writer().events(1, 0, {&event, 1});
  story.checkpoint(0);
  story.steps(2, 3);
  story.begin(story.from(1));
  CHECK(story.series().empty());
  CHECK(read_events(story.store, story.run.id)[1].size() == kEventBytes);
  CHECK(number(story.store, "SELECT superseded FROM attempt_list WHERE attempt = 1") == 0);
  CHECK(number(story.store, "SELECT count(*) FROM series_list") == 0);
  story.steps(2, 2);
  story.kill();
  CHECK(story.series().at(0).points.size() == 1);
  CHECK(read_events(story.store, story.run.id)[0].size() == 2 * kEventBytes);
}

TEST_CASE("a checkpoint of another run is refused and the run stays as it was") {
  Story story;
  story.begin();
  story.steps(1, 2);
  const RunRecord second = make_run(2);
  story.store.add_experiment(make_experiment("second"), {second});
  const std::int64_t attempt = begin(story.store, second.id);
  RunWriter(story.temp.store(), second.id, attempt).checkpoint(record_at(1), 1);
  const std::int64_t foreign = checkpoints_of(story.store, second.id).at(0).id;
  for (const std::int64_t id : {foreign, std::int64_t{999}})
    CHECK_THROWS_WITH(story.begin(Continuation{id, nullptr}),
                      ContainsSubstring("no such checkpoint") && ContainsSubstring(story.run.id));
  story.check({1, 1});
}

TEST_CASE("what changed when a run was continued is kept") {
  Story story;
  story.begin();
  story.checkpoint(0);
  Continuation continued = story.from(1);
  continued.changed = {{"compiler", {"g++ 12", "clang \"14\""}}};
  story.begin(continued);
  const auto attempts = story.detail().attempts;
  CHECK(attempts.at(0).changed == nlohmann::json::object());
  CHECK(attempts.at(1).changed == continued.changed);
  CHECK(number(story.store, "SELECT resumed_from FROM attempt_list WHERE attempt = 2") == 1);
  CHECK(number(story.store,
               "SELECT changed ->> '$.compiler[0]' = 'g++ 12' FROM attempt_list"
               " WHERE attempt = 2") == 1);
}

TEST_CASE("a continued run shows where it stands and the last values before it has its own") {
  Story story;
  story.begin_to(3);
  story.steps(4, 9);
  story.begin(story.from(1));
  const auto shown = [&] { return story.summary(); };
  const std::string in_view = "SELECT metrics ->> 'train_loss_at_mean' FROM run_list";
  CHECK(shown().progress.gradients == 3);
  CHECK(shown().progress.seconds == 0.3);
  CHECK(shown().metrics.at("train_loss_at_mean") == Story::value(1, 3));
  CHECK(number(story.store, in_view) == Story::value(1, 3));
  story.steps(4, 4);
  story.kill();
  CHECK(shown().metrics.at("train_loss_at_mean") == Story::value(2, 4));
  CHECK(number(story.store, in_view) == Story::value(2, 4));
  CHECK(shown().metrics.size() == 1);
}

std::string summaries(const Store& store) {
  return rows(store, "metric, count, last, last_special, best, best_gradients",
              "series_list ORDER BY metric");
}

TEST_CASE("summaries of a series that was cut are those it had at the checkpoint") {
  const std::vector<double> values{3, 2, kNaN, 5, 2, kInfinity, 7, 1, -kInfinity, 0, 9, kNaN, 4, 4};
  // Cuts series that are whole and series that were cut before, by one step and by many.
  for (const std::vector<int>& cuts : {std::vector{14, 13, 9, 8, 4, 3, 1}, {12, 11, 10, 6, 2}}) {
    Story story;
    story.begin();
    std::vector<std::string> at_checkpoint;
    for (int step = 1; step <= static_cast<int>(values.size()); ++step) {
      const double x = values[static_cast<std::size_t>(step - 1)];
      std::vector<Value> row{{"eval_loss", kWholeRun, x},
                             {"eval_accuracy", kWholeRun, x},
                             {"exchanges", kWholeRun, x}};
      if (step > 5) row.push_back({"staleness", 0, x});
      story.writer().sample(at(step), row);
      story.checkpoint(step);
      at_checkpoint.push_back(summaries(story.store));
    }
    for (const int cut : cuts) {
      story.begin(story.from(cut));
      INFO("cut after " << cut);
      CHECK(summaries(story.store) == at_checkpoint[static_cast<std::size_t>(cut - 1)]);
      CHECK(number(story.store, "SELECT count(*) FROM pragma_foreign_key_check") == 0);
    }
  }
}

TEST_CASE("an attempt that another process has replaced takes no more checkpoints") {
  Story story;
  story.begin_to(1);
  story.store.begin_attempt(story.run.id, dead_lease(), {}, {}, {}, story.from(1));
  CHECK_THROWS_WITH(story.checkpoint(2), ContainsSubstring("another process has taken run"));
  CHECK_THROWS_AS(story.steps(2, 2), StoreError);
  CHECK(story.checkpoints().size() == 1);
}

TEST_CASE("an attempt that another process has replaced records nothing more, nor its end") {
  Story story;
  story.begin();
  story.steps(1, 1);
  story.writer().flush();
  story.store.begin_attempt(story.run.id, dead_lease(), {}, {}, {});
  const auto taken_over = ContainsSubstring("another process has taken run " + story.run.id);
  story.writer().note(Severity::info, "too late");
  CHECK_THROWS_WITH(story.writer().flush(), taken_over);
  CHECK_THROWS_AS(story.steps(2, 2), StoreError);
  AttemptResult result = ended_as(RunState::finished);
  result.artifacts = {{"final-mean", "checkpoints/x", sha256_hex("x"), 1}};
  CHECK_THROWS_WITH(story.store.end_attempt(story.attempt_id(), result), taken_over);
  CHECK(story.detail().attempts.at(0).outcome == "interrupted");
  for (const char* table : {"results", "artifacts", "log"})
    CHECK(number(story.store, fmt::format("SELECT count(*) FROM {}", table)) == 0);
  CHECK(number(story.store, "SELECT count(*) FROM ticks") == 1);
}

TEST_CASE("an attempt that lost its last values to a cut hands on those of the one before") {
  Story story;
  story.begin_to(1);
  story.begin(story.from(1));
  sample(story.writer(), at(2), {{"eval_loss", kWholeRun, 5.0}});
  story.checkpoint(2);
  story.steps(3, 3);
  story.begin(story.from(2));
  const auto metrics = [&] { return story.summary().metrics; };
  CHECK(metrics().at("train_loss_at_mean") == Story::value(1, 1));
  CHECK(metrics().at("eval_loss") == 5);
  story.begin();
  CHECK(metrics().empty());
}

TEST_CASE("a process that was overtaken by another begins nothing") {
  Story story;
  const auto seen = [&] { return version_of(story.detail()); };
  const auto begin = [&](const RunVersion& known, const Lease& lease = dead_lease()) {
    return story.store.begin_attempt(story.run.id, lease, {}, {}, {}, std::nullopt, known);
  };
  const RunVersion planned = seen();
  begin(planned);
  CHECK_THROWS_AS(begin(planned), Overtaken);
  CHECK(seen().attempts == 1);

  SECTION("by an attempt that has begun and ended since, or was given up for dead") {
    const RunVersion dead = seen();
    CHECK(dead.state == RunState::interrupted);
    story.store.mark_interrupted(story.run.id, dead_lease().pid, "it was killed");
    begin(dead);
    CHECK_THROWS_AS(begin(dead), Overtaken);
    CHECK(seen().attempts == 2);
  }
  SECTION("by the end of an attempt that was under way") {
    const std::int64_t others = begin(seen(), Lease::of_this_process());
    const RunVersion running = seen();
    CHECK(running.state == RunState::running);
    const RunState end = GENERATE(RunState::finished, RunState::interrupted, RunState::failed);
    story.store.end_attempt(others, ended_as(end));
    CHECK_THROWS_AS(begin(running), Overtaken);
    CHECK(seen().attempts == 2);
    CHECK(seen().state == end);
    begin(seen());
    CHECK(seen().attempts == 3);
  }
  SECTION("by a checkpoint of an attempt that seemed to be dead") {
    story.begin_to(1);
    const RunVersion before = seen();
    CHECK(before.newest_checkpoint == 1);
    story.steps(2, 2);
    story.checkpoint(2);
    CHECK_THROWS_AS(begin(before), Overtaken);
    story.check({1, 1});
    begin(seen());
    CHECK(seen().newest_checkpoint == 0);
  }
}

}  // namespace
}  // namespace acid
