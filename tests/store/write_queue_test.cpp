// WriteQueue: how recording threads behave while the writer takes nothing.
#include "store/write_queue.hpp"

#include <atomic>
#include <future>
#include <thread>

#include "tests/catch.hpp"
#include "tests/waiting.hpp"

namespace acid {
namespace {

using test::comes_true;

constexpr std::size_t kMost = 100;
constexpr int kRecorders = 4, kEach = 1000;

/// Threads that record values, or events, as fast as the queue allows.
class Recorders {
 public:
  Recorders(WriteQueue& queue, bool events) {
    for (int worker = 0; worker < kRecorders; ++worker)
      threads_.emplace_back([this, &queue, events, worker] {
        try {
          for (int i = 0; i < kEach; ++i, ++recorded_) record(queue, events, worker, i);
        } catch (const StoreError&) {
          ++refused_;
        }
        ++ended_;
      });
  }
  ~Recorders() { join(); }
  void join() {
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }
  int recorded() const { return recorded_; }
  int refused() const { return refused_; }
  bool ended() const { return ended_ == kRecorders; }

 private:
  static void record(WriteQueue& queue, bool events, int worker, int i) {
    const Value value{"staleness", worker, static_cast<double>(i)};
    const Event event{};
    if (events)
      queue.events(worker, i, {&event, 1});
    else
      queue.sample({i, 0, 0, 0}, {&value, 1});
  }

  std::atomic<int> recorded_{0}, refused_{0}, ended_{0};
  std::vector<std::thread> threads_;
};

/// Waits until all of them sleep, with the queue full.
void wait_until_full(const Recorders& recorders) {
  REQUIRE(comes_true([&] { return recorders.recorded() == static_cast<int>(kMost); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(recorders.recorded() == static_cast<int>(kMost));
}

TEST_CASE("a full queue makes those who record wait, and loses nothing") {
  const bool events = GENERATE(false, true);
  WriteQueue queue(1, kMost);
  Recorders recorders(queue, events);
  wait_until_full(recorders);
  queue.progress({});  // neither of the two waits
  queue.note(Severity::info, "still here");
  Batch batch;
  std::size_t taken = 0, largest = 0, warnings = 0;
  std::vector<int> next(kRecorders, 0);
  std::vector<double> last(kRecorders, -1);
  while (taken < kRecorders * kEach && queue.take(batch)) {
    taken += batch.records();
    largest = std::max(largest, batch.records());
    for (const Batch::Line& line : batch.lines) warnings += line.severity == Severity::warning;
    for (const Batch::Chunk& chunk : batch.chunks)
      CHECK(next[static_cast<std::size_t>(chunk.worker)]++ == chunk.first);
    for (const Batch::Point& point : batch.points) CHECK(last[point.series]++ == point.value - 1);
    queue.committed({});
  }
  recorders.join();
  CHECK(taken == kRecorders * kEach);
  CHECK(largest == kMost);
  CHECK(warnings >= 1);
}

TEST_CASE("a full queue that fails or closes lets those go who wait for room") {
  const bool events = GENERATE(false, true), failing = GENERATE(false, true);
  WriteQueue queue(1, kMost);
  Recorders recorders(queue, events);
  wait_until_full(recorders);
  if (failing)
    queue.fail(std::make_exception_ptr(StoreError("no more")));
  else
    queue.close();
  CHECK(comes_true([&] { return recorders.ended(); }));
  CHECK(recorders.refused() == (failing && !events ? kRecorders : 0));
  Batch batch;
  if (!failing) {
    CHECK(queue.take(batch));
    CHECK(batch.records() == kRecorders * kEach);
  }
}

TEST_CASE("a checkpoint and a flush of a full queue come through while others wait for room") {
  WriteQueue queue(1, kMost);
  Recorders recorders(queue, false);
  wait_until_full(recorders);
  auto saved = std::async(std::launch::async, [&] {
    const std::vector<std::string> released = queue.checkpoint({}, 1);
    queue.flush();
    return released;
  });
  CHECK(comes_true([&] { return recorders.recorded() >= 2 * static_cast<int>(kMost); }));
  Batch batch;
  REQUIRE(queue.take(batch));
  CHECK(batch.checkpoint);
  CHECK(batch.records() == kMost);
  queue.committed({"old"});
  std::size_t taken = batch.records();
  for (; taken < kRecorders * kEach && queue.take(batch); taken += batch.records())
    queue.committed({});
  queue.committed({});
  CHECK(saved.get() == std::vector<std::string>{"old"});
  recorders.join();
  CHECK(taken == kRecorders * kEach);
}

TEST_CASE("a checkpoint that was committed is not refused for what failed after it") {
  WriteQueue queue(1);
  std::thread writer([&] {
    Batch batch;
    while (queue.take(batch) && !batch.checkpoint) queue.committed({});
    queue.committed({"old"});
    queue.fail(std::make_exception_ptr(StoreError("later")));
  });
  // The second follows at once, mostly before the thread that waits for the first wakes up.
  CHECK(queue.checkpoint({}, 1) == std::vector<std::string>{"old"});
  CHECK_THROWS_AS(queue.checkpoint({}, 1), StoreError);
  writer.join();
}

}  // namespace
}  // namespace acid
