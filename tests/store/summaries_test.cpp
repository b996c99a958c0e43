// The summaries beside the values of a series, for lists and comparisons that do not read all
// values.
#include <algorithm>
#include <cmath>

#include "store/maintenance.hpp"
#include "tests/store/story.hpp"

namespace acid::test {
namespace {

using Sentences = std::vector<std::string>;

TEST_CASE("summaries agree with any values") {
  Story story;
  story.begin();
  const double values[] = {3, NAN, -INFINITY, -0.0, 2, 2, INFINITY, NAN};
  for (int step = 1; step <= 8; ++step) {
    sample(story.writer(), at(step),
           {{"eval_accuracy", kWholeRun, values[step - 1]},
            {"eval_loss", kWholeRun, values[step - 1]},
            {"my_metric", 1, values[step - 1]}});
    if (step % 3 == 0) story.writer().flush();
    if (step == 5) story.checkpoint(5);
  }
  story.kill();
  CHECK(wrong_summaries(story.store, story.run.id) == Sentences{});
  story.begin(story.from(1));  // carries the last values on
  story.kill();
  CHECK(wrong_summaries(story.store, story.run.id) == Sentences{});
}

TEST_CASE("a summary that disagrees is found, also when the store is inspected") {
  struct Alteration {
    const char* sql;
    const char* found;
  };
  // 1003 is the last value of the first attempt, which the second carries on.
  const Alteration alterations[] = {
      {"UPDATE series SET last = 7 WHERE attempt = 1", "ends with 1003, said to be 7"},
      {"UPDATE series SET last_special = 1 WHERE attempt = 1", "ends with 1003, said to be 1003"},
      {"UPDATE series SET best = 7 WHERE attempt = 1", "1001 for its best value, said to be 7"},
      {"UPDATE series SET count = 7 WHERE attempt = 1", "has 3 values, said to be 7"},
      {"UPDATE series SET unit = 'm' WHERE attempt = 1", "another unit or direction"},
      {"UPDATE series SET better = 1 WHERE attempt = 1", "another unit or direction"},
      {"UPDATE points SET special = 3 WHERE tick = 2", "has a wrong mark at the value 1002"},
      {"UPDATE series SET last = 7 WHERE attempt = 2", "ended with 1003 in the attempt before"},
      {"UPDATE series SET metric = 'eval_loss' WHERE attempt = 2", "eval_loss has no values"},
  };
  for (const Alteration& alteration : alterations) {
    Story story;
    story.begin_to(3);
    story.begin(story.from(1));
    story.kill();
    REQUIRE(wrong_summaries(story.store, story.run.id) == Sentences{});
    story.execute(alteration.sql);
    const Sentences wrong = wrong_summaries(story.store, story.run.id);
    INFO(alteration.sql);
    REQUIRE_FALSE(wrong.empty());
    const bool named = std::any_of(wrong.begin(), wrong.end(), [&](const std::string& one) {
      return one.find(alteration.found) != std::string::npos;
    });
    INFO(wrong.front());
    CHECK(named);
    std::size_t inspected = 0;
    for (const StoreFinding& finding : inspect_store(story.store))
      inspected += finding.what.starts_with("run " + story.run.id + ": ");
    CHECK(inspected == wrong.size());
  }
}

}  // namespace
}  // namespace acid::test
