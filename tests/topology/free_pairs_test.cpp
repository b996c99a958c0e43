#include "engine/topology/free_pairs.hpp"

#include <set>

#include "engine/base/archive.hpp"
#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/topology/samples.hpp"

using namespace acid;

TEST_CASE("free workers meet neighbours, each one, until no two that are left could meet") {
  const int n = GENERATE(2, 3, 7, 16);
  for (const Topology& topology : samples::all_of_size(n)) {
    INFO(topology.kind() << " n=" << n);
    FreePairs free(topology, Seeds(3));
    std::set<std::pair<int, int>> last;
    for (int round = 0; round < 30; ++round) {
      CHECK(free.has_new());
      const auto pairs = free.draw();
      CHECK_FALSE(free.has_new());
      REQUIRE_FALSE(pairs.empty());
      std::set<int> met;
      for (const auto& [i, j] : pairs) {
        CHECK(i < j);
        CHECK(topology.adjacent(i, j));
        CHECK(met.insert(i).second);
        CHECK(met.insert(j).second);
        if (n > 2) CHECK_FALSE(last.contains({i, j}));
      }
      topology.for_each_edge([&](const Edge& edge) {
        if (!met.contains(edge.i) && !met.contains(edge.j)) CHECK(last.contains({edge.i, edge.j}));
      });
      for (const auto& [i, j] : pairs) {
        std::erase_if(last, [&, &a = i, &b = j](const auto& pair) {
          return pair.first == a || pair.first == b || pair.second == a || pair.second == b;
        });
        last.insert({i, j});
        free.add(i);
        free.add(j);
      }
    }
  }
}

TEST_CASE("a partner is drawn among the free neighbours with the graph's probabilities") {
  // Workers 1 to 3 have no other neighbours, and worker 3 is busy.
  const Topology star("weighted", 4, {{0, 1, 3}, {0, 2, 1}, {0, 3, 100}});
  int first = 0;
  constexpr int kDraws = 4000;
  for (int seed = 0; seed < kDraws; ++seed) {
    FreePairs free(star, Seeds(static_cast<std::uint64_t>(seed)));
    free.remove(0);
    free.remove(3);
    CHECK(free.draw().empty());
    free.add(0);  // the one that draws
    const auto pairs = free.draw();
    REQUIRE(pairs.size() == 1);
    CHECK(pairs[0].second != 3);
    first += pairs[0].second == 1 ? 1 : 0;
  }
  CHECK(first == Approx(0.75 * kDraws).epsilon(0.04));
}

TEST_CASE("what is free and what will be drawn is archived, and impossible states are errors") {
  const Topology ring = samples::make("ring", 7);
  FreePairs free(ring, Seeds(1));
  free.draw();
  free.add(2);
  ArchiveWriter writer;
  writer(free);
  const std::vector<std::byte> bytes = writer.take();
  FreePairs again(ring, Seeds(1));
  ArchiveReader reader(bytes);
  reader(again);
  for (int round = 0; round < 20; ++round) {
    CHECK(again.draw() == free.draw());
    free.add(round % 7);
    again.add(round % 7);
  }
  const Topology five = samples::make("ring", 5);
  FreePairs smaller(five, Seeds(1));
  ArchiveReader other(bytes);
  CHECK_THROWS_AS(other(smaller), Error);
}
