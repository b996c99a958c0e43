// Checkpoints, the event log and verifications are recorded and read back.
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;

// Whether a thread of this process waits for something, and not only for a moment.
bool sleeps(pid_t thread) {
  for (int looks = 0; looks < 20; ++looks) {
    std::ifstream file(fmt::format("/proc/self/task/{}/stat", thread));
    std::string line;
    std::getline(file, line);
    if (line.find(") S ") == std::string::npos) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

TEST_CASE("a checkpoint reads back as it was recorded") {
  Story story;
  story.begin();
  CHECK(story.checkpoints().empty());
  story.steps(1, 3);
  CHECK(story.checkpoint(3).empty());
  story.steps(4, 4);
  CHECK(story.checkpoint(4).empty());
  const auto rows = story.detail().checkpoints;
  REQUIRE(rows.size() == 2);
  const CheckpointRecord wanted = record_at(3, "1-");
  const CheckpointRow& row = rows[0];
  CHECK(std::tie(row.number, row.attempt, row.step, row.path, row.sha256, row.bytes) ==
        std::tuple(1, 1, 3, wanted.path, wanted.sha256, 1003));
  const Position& here = row.position;
  CHECK(std::tie(here.gradients, here.normalised_time, here.seconds, here.bytes) ==
        std::tuple(3, 1.5, 0.3, 300));
  CHECK((row.created.size() == 24 && !row.removed));
  CHECK(rows[1].number == 2);
  CHECK(rows[1].id > rows[0].id);
  const CutDigests cut = cut_digests(story.store, rows[0].id);
  CHECK(cut.workers == wanted.worker_digests);
  CHECK(cut.tensors == wanted.tensor_digests);
  CHECK_THROWS_AS(cut_digests(story.store, 12345), StoreError);
  CHECK(story.summary().progress.gradients == 4);
}

TEST_CASE("only the newest checkpoints keep their files") {
  Story story;
  story.begin();
  std::vector<std::string> released;
  for (int step = 1; step <= 5; ++step) {
    story.steps(step, step);
    const auto now = story.checkpoint(step, 2);
    released.insert(released.end(), now.begin(), now.end());
    const auto rows = story.checkpoints();
    REQUIRE(rows.size() == static_cast<std::size_t>(step));
    for (const CheckpointRow& row : rows) CHECK(row.removed == (row.number <= step - 2));
    CHECK(cut_digests(story.store, rows.front().id).workers.size() == 2);
  }
  CHECK(released ==
        std::vector{record_at(1, "1-").path, record_at(2, "1-").path, record_at(3, "1-").path});
}

TEST_CASE("files of superseded checkpoints are let go of at the next checkpoint") {
  Story story;
  story.begin();
  for (int step = 1; step <= 3; ++step) story.checkpoint(step, 3);
  story.begin(story.from(1));
  CHECK(story.checkpoint(4, 3) == std::vector{record_at(2, "1-").path, record_at(3, "1-").path});
  CHECK(story.checkpoint(5, 3).empty());
  CHECK(story.checkpoint(6, 3) == std::vector{record_at(1, "1-").path});
}

TEST_CASE("a file that a newer checkpoint has replaced is not let go of") {
  Story story;
  story.begin();
  story.writer().checkpoint(record_at(7), 1);
  story.begin();
  CHECK(story.writer().checkpoint(record_at(7), 1).empty());
  CHECK(number(story.store, "SELECT count(*) FROM checkpoint_list WHERE removed IS NOT NULL") == 1);
}

TEST_CASE("a checkpoint is never seen without what was recorded before it, nor with more") {
  Story story;
  story.begin();
  constexpr int kSteps = 150;
  std::atomic<bool> done = false;
  int seen = 0, wrong = 0;
  std::thread reader([&] {
    const Store store(story.temp.store(), Store::Access::read);
    // Reads the step of the newest checkpoint, and its numbers of ticks, values and events.
    sqlite::Statement look(store.impl().connection(),
                           "SELECT step, last_tick, last_chunk,"
                           " (SELECT count(*) FROM ticks WHERE tick <= last_tick),"
                           " (SELECT count(*) FROM points WHERE tick <= last_tick),"
                           " (SELECT count(*) FROM event_chunks WHERE chunk <= last_chunk),"
                           " (SELECT count(*) FROM cut_digests WHERE checkpoint = id)"
                           " FROM checkpoints ORDER BY number DESC LIMIT 1");
    while (!done) {
      look.reset();
      if (!look.step()) continue;
      ++seen;
      const std::int64_t step = look.integer(0);
      const std::vector<std::int64_t> wanted{step, 2 * step, step, 2 * step, 2 * step, 2};
      for (int i = 0; i < 6; ++i)
        if (look.integer(i + 1) != wanted[static_cast<std::size_t>(i)]) ++wrong;
    }
  });
  for (int step = 1; step <= kSteps; ++step) {
    story.steps(step, step);
    story.checkpoint(step, 2);
  }
  done = true;
  reader.join();
  CHECK(seen > 0);
  CHECK(wrong == 0);
  CHECK(number(story.store, "SELECT count(*) FROM checkpoints") == kSteps);
}

TEST_CASE("what is recorded while a checkpoint waits for the store is not part of it") {
  Story story;
  story.begin();
  story.steps(1, 2);
  std::thread taker;
  std::atomic<pid_t> id = 0;
  {
    sqlite::Transaction lock(story.store.impl().connection(), sqlite::Transaction::Kind::write);
    taker = std::thread([&] {
      id = gettid();
      story.checkpoint(2);
    });
    CHECK(comes_true([&] { return id != 0 && sleeps(id); }));
    story.steps(3, 5);
    lock.commit();
  }
  taker.join();
  story.kill();
  story.check({1, 1, 1, 1, 1});
  story.begin(story.from(1));
  story.check({1, 1});
}

TEST_CASE("events that are missing or of an unknown worker are reported with the run") {
  for (const std::string damage :
       {"DELETE FROM event_chunks WHERE chunk = 3", "UPDATE event_chunks SET worker = 9",
        "UPDATE event_chunks SET events = x'00' WHERE chunk = 4",
        "UPDATE event_chunks SET first = first + 1 WHERE worker = 1"}) {
    Story story;
    story.begin();
    story.steps(1, 3);
    story.kill();
    story.check({1, 1, 1});
    story.execute(damage);
    INFO(damage);
    CHECK_THROWS_AS(read_events(story.store, story.run.id), StoreError);
    CHECK_THROWS_WITH(read_events(story.store, story.run.id),
                      ContainsSubstring(story.run.id) && ContainsSubstring("worker"));
  }
  const Story story;
  CHECK_THROWS_AS(read_events(story.store, "unknown"), UsageError);
  CHECK(read_events(story.store, story.run.id).size() == 4);
}

TEST_CASE("verifications are kept with the attempt they were made of") {
  Story story;
  story.begin_to(1);
  const std::int64_t checkpoint = story.from(1).checkpoint;
  story.store.add_verification(story.run.id, {true, "9 cuts", std::nullopt, {{"cpu", "x"}}});
  story.store.add_verification(story.run.id, {false, "worker 3 differs", checkpoint, {}});
  const auto rows = story.detail().verifications;
  REQUIRE(rows.size() == 2);
  CHECK((rows[0].equal && rows[0].message == "9 cuts" && !rows[0].from));
  CHECK(rows[0].host == Lease::of_this_process().host);
  CHECK(rows[0].environment == nlohmann::json{{"cpu", "x"}});
  CHECK(rows[0].time.size() == 24);
  CHECK((!rows[1].equal && rows[1].from == 1));
  CHECK(number(story.store, "SELECT checkpoint FROM verification_list WHERE equal = 0") == 1);
  story.begin(story.from(1));
  CHECK(story.detail().verifications.empty());
  CHECK_THROWS_AS(story.store.add_verification("unknown", {}), StoreError);
}

}  // namespace
}  // namespace acid
