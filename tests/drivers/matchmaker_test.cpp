#include "engine/drivers/shared/matchmaker.hpp"

#include <array>
#include <map>
#include <set>
#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

DueEdge edge(std::uint64_t number, int i, int j) { return {number, 1.0 * number, i, j}; }

}  // namespace

TEST_CASE("an edge waits for an earlier one of either partner, even if it could not start") {
  Matchmaker matchmaker(4);
  matchmaker.add(edge(0, 0, 1));
  matchmaker.add(edge(1, 1, 2));  // waits for worker 1
  matchmaker.add(edge(2, 2, 3));  // 2 and 3 are free, but edge 1 of worker 2 comes first
  const auto first = matchmaker.take();
  REQUIRE(first);
  CHECK(first->number == 0);
  CHECK_FALSE(matchmaker.take());
  CHECK(matchmaker.backlog(0) == 0);  // the exchange in flight does not count
  CHECK(matchmaker.backlog(2) == 2);
  CHECK(matchmaker.waiting() == 2);
  matchmaker.finish(*first);
  CHECK(matchmaker.take()->number == 1);
  CHECK_FALSE(matchmaker.take());
  matchmaker.finish(edge(1, 1, 2));
  CHECK(matchmaker.take()->number == 2);
  CHECK_FALSE(matchmaker.idle());
  matchmaker.finish(edge(2, 2, 3));
  CHECK(matchmaker.idle());
  CHECK(matchmaker.finished() == 3);
}

TEST_CASE("edges that share no worker start together") {
  Matchmaker matchmaker(4);
  matchmaker.add(edge(0, 0, 1));
  matchmaker.add(edge(1, 2, 3));
  CHECK(matchmaker.take());
  CHECK(matchmaker.take());
}

TEST_CASE("an edge passes at once where nothing waits, and only there") {
  Matchmaker matchmaker(4);
  matchmaker.pass();
  CHECK(matchmaker.idle());
  CHECK(matchmaker.due() == 1);
  CHECK(matchmaker.finished() == 1);
  CHECK(matchmaker.waiting() == 0);
  matchmaker.add(edge(1, 0, 1));
  CHECK_THROWS_AS(matchmaker.pass(), AssertionError);
  CHECK(matchmaker.in_flight(1).number == 1);
  CHECK_THROWS_AS(matchmaker.in_flight(2), AssertionError);
}

TEST_CASE("finishing an edge that is not in flight is a bug") {
  Matchmaker matchmaker(3);
  CHECK_THROWS_AS(matchmaker.finish(edge(0, 0, 1)), AssertionError);
}

TEST_CASE("CORRECTNESS 21: no deadlock and the drawn order in a million random schedules") {
  // Edges of random graphs become due, start and finish in random interleavings: 5,000 rounds of
  // 200 decisions. Each edge that is taken must be the oldest unfinished one of both its workers.
  Stream stream(2026);
  for (int round = 0; round < 5000; ++round) {
    const int n = 2 + static_cast<int>(stream.below(9));
    Matchmaker matchmaker(n);
    std::vector<std::set<std::uint64_t>> open(static_cast<std::size_t>(n));
    std::vector<DueEdge> in_flight;
    std::uint64_t number = 0;
    const auto take = [&] {
      while (const auto taken = matchmaker.take()) {
        REQUIRE(*open[static_cast<std::size_t>(taken->i)].begin() == taken->number);
        REQUIRE(*open[static_cast<std::size_t>(taken->j)].begin() == taken->number);
        in_flight.push_back(*taken);
      }
    };
    const auto finish_one = [&] {
      const auto k = static_cast<std::ptrdiff_t>(stream.below(in_flight.size()));
      const DueEdge done = in_flight[static_cast<std::size_t>(k)];
      in_flight.erase(in_flight.begin() + k);
      matchmaker.finish(done);
      open[static_cast<std::size_t>(done.i)].erase(done.number);
      open[static_cast<std::size_t>(done.j)].erase(done.number);
    };
    for (int decision = 0; decision < 200; ++decision) {
      if (stream.uniform() < 0.5 || in_flight.empty()) {
        const int i = static_cast<int>(stream.below(static_cast<std::uint64_t>(n)));
        const int j =
            (i + 1 + static_cast<int>(stream.below(static_cast<std::uint64_t>(n - 1)))) % n;
        const DueEdge due = edge(number++, std::min(i, j), std::max(i, j));
        open[static_cast<std::size_t>(i)].insert(due.number);
        open[static_cast<std::size_t>(j)].insert(due.number);
        matchmaker.add(due);
      } else {
        finish_one();
      }
      take();
    }
    while (!in_flight.empty()) {  // With anything unfinished, something is in flight: no deadlock.
      finish_one();
      take();
    }
    REQUIRE(matchmaker.idle());
    REQUIRE(matchmaker.finished() == static_cast<std::int64_t>(number));
  }
}

TEST_CASE("CORRECTNESS 21: no deadlock in 10⁶ random schedules on a bipartite graph", "[release]") {
  // K₂,₃: ten edges become due and finish in a random interleaving, until nothing is left.
  Stream stream(21);
  constexpr std::uint64_t kEdges = 10;
  for (int schedule = 0; schedule < 1'000'000; ++schedule) {
    Matchmaker matchmaker(5);
    std::array<DueEdge, kEdges> in_flight;
    std::size_t held = 0;
    std::uint64_t number = 0;
    std::int64_t finished = 0;
    while (finished < static_cast<std::int64_t>(kEdges)) {
      const bool may_add = number < kEdges;
      if (!may_add && held == 0) FAIL("deadlock in schedule " << schedule);
      if (may_add && (held == 0 || stream.below(2) == 0)) {
        matchmaker.add(edge(number++, static_cast<int>(stream.below(2)),
                            2 + static_cast<int>(stream.below(3))));
      } else {
        std::swap(in_flight[stream.below(held)], in_flight[held - 1]);
        matchmaker.finish(in_flight[--held]);
        ++finished;
      }
      while (const auto taken = matchmaker.take()) in_flight[held++] = *taken;
    }
    if (!matchmaker.idle()) FAIL("something is left of schedule " << schedule);
  }
  SUCCEED();
}
