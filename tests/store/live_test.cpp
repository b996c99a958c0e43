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
  story.begin();
  story.steps(1, 3);
  story.checkpoint(3);
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
}  // namespace acid
