// The queries of a live view: the pace of the newest attempt, and the outline of a long series.
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;

std::vector<double> outline(const Story& story, int most) {
  return series_outline(story.store, story.run.id, "train_loss_at_mean", most);
}

TEST_CASE(
    "the outline of a series has its newest value, is in order, and is as long as asked for") {
  Story story;
  CHECK(outline(story, 8).empty());
  story.begin();
  story.steps(1, 3);
  story.kill();
  CHECK(outline(story, 8) == std::vector<double>{1001, 1002, 1003});
  CHECK(outline(story, 3) == std::vector<double>{1001, 1002, 1003});
  CHECK(outline(story, 1) == std::vector<double>{1003});
  CHECK(outline(story, 0).empty());
  CHECK(series_outline(story.store, story.run.id, "staleness", 8).empty());  // of single workers
  CHECK(series_outline(story.store, "no such run", "train_loss_at_mean", 8).empty());
}

TEST_CASE("the outline of a long series is spread evenly over it") {
  Story story;
  story.begin();
  story.steps(1, 1000);
  story.kill();
  const std::vector<double> values = outline(story, 10);
  REQUIRE(values.size() == 10);
  for (std::size_t k = 0; k < 10; ++k) CHECK(values[k] == 1000.0 + 100.0 * (k + 1.0));
}

TEST_CASE("the outline leaves out what was superseded") {
  Story story;
  story.begin_and_go_on();
  CHECK(outline(story, 100) == std::vector<double>{1001, 1002, 1003, 2004, 2005});
}

TEST_CASE("the pace of a run is that of its newest attempt, from where it went on") {
  Story story;
  CHECK_FALSE(newest_pace(story.store, story.run.id));
  CHECK_FALSE(newest_pace(story.store, "no such run"));
  story.begin_to(3);
  story.begin(story.from(1));
  const auto pace = newest_pace(story.store, story.run.id);
  REQUIRE(pace);
  CHECK(pace->attempt == 2);
  CHECK(pace->resumed_gradients == 3);
  CHECK(pace->pid == dead_lease().pid);
  CHECK(pace->host == dead_lease().host);
  CHECK(pace->seconds >= 0);
  CHECK(pace->seconds < 600);
}

TEST_CASE("the moment of a store stays until something is written") {
  Story story;
  const Store reader(story.temp.store(), Store::Access::read);
  const std::string planned = store_moment(reader);
  CHECK(store_moment(reader) == planned);
  run_summaries(reader, {story.run.id});
  CHECK(store_moment(reader) == planned);

  story.begin();
  const std::string begun = store_moment(reader);
  CHECK(begun != planned);
  story.steps(1, 3);
  story.kill();
  CHECK(store_moment(reader) != begun);
  CHECK(store_moment(reader) == store_moment(reader));
}

}  // namespace
TEST_CASE("attempts are listed with what became of them, and lost ones apart from stopped ones") {
  acid::test::ScratchFolder temp;
  const std::vector<RunRecord> runs{make_run(1), make_run(2), make_run(3)};
  Store store = make_store(temp.store(), runs);
  CHECK(list_attempts(store, {runs[0].id}).empty());
  const nlohmann::json environment{{"batch", {{"system", "slurm"}, {"task", 4}}}};
  store.begin_attempt(runs[0].id, lease_elsewhere(), environment, {}, {});
  store.end_attempt(begin(store, runs[1].id), ended_as(RunState::interrupted));
  const std::int64_t gone =
      store.begin_attempt(runs[2].id, dead_lease(), nlohmann::json::array(), {}, {});
  {
    RunWriter writer(store.folder(), runs[2].id, gone);
    CheckpointRecord record;
    record.position = {40, 10, 1, 0};
    record.path = "checkpoints/x";
    writer.checkpoint(record, 2);
    writer.progress({44, 11, 1.1, 0});
    writer.flush();
  }
  const std::vector<std::string> ids{runs[0].id, runs[1].id, runs[2].id};
  auto attempts = list_attempts(store, ids);
  REQUIRE(attempts.size() == 3);
  CHECK((attempts[0].state == RunState::running && attempts[0].host == "elsewhere"));
  CHECK(attempts[0].batch == environment["batch"]);
  CHECK((attempts[1].state == RunState::interrupted && !attempts[1].is_lost));
  CHECK(attempts[1].batch.is_null());
  CHECK((attempts[2].state == RunState::interrupted && attempts[2].is_lost));
  CHECK((attempts[2].from.gradients == 0 && attempts[2].to.gradients == 44));
  CHECK((attempts[2].silent_seconds >= 0 && attempts[2].silent_seconds < 60));

  const Continuation from{checkpoints_of(store, runs[2].id).at(0).id, nullptr};
  store.begin_attempt(runs[2].id, Lease::of_this_process(), {}, {}, {}, from);
  attempts = list_attempts(store, {runs[2].id});
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[0].is_lost);
  CHECK((attempts[1].state == RunState::running && attempts[1].from.gradients == 40));
}

}  // namespace acid
