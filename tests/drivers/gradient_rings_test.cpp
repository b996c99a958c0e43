#include "engine/drivers/virtual/gradient_rings.hpp"

#include <cmath>
#include <map>
#include <vector>

#include "engine/base/archive.hpp"
#include "engine/base/error.hpp"
#include "engine/run/outcome.hpp"
#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("superposed clocks ring at the sum of their rates, each worker as often") {
  constexpr int kRingers = 7;
  constexpr double kMeanSeconds = 0.25, kRings = 70'000;
  GradientRings rings(kRingers, kMeanSeconds, Seeds(3));
  std::vector<double> counts(kRingers), last(kRingers), squares(kRingers);
  double now = 0;
  for (int k = 0; k < kRings; ++k) {
    CHECK(rings.peek().seconds > now);
    const GradientRings::Ring ring = rings.pop();
    now = ring.seconds;
    const auto w = static_cast<std::size_t>(ring.worker);
    ++counts.at(w);
    squares[w] += std::pow((now - last[w]) / kMeanSeconds, 2);
    last[w] = now;
  }
  CHECK(now * kRingers / kMeanSeconds == Approx(kRings).margin(4 * std::sqrt(kRings)));
  for (std::size_t w = 0; w < kRingers; ++w) {
    const double expected = kRings / kRingers;
    CHECK(counts[w] == Approx(expected).margin(4 * std::sqrt(expected)));
    // The gaps of one worker are exponential: their mean square is twice their squared mean.
    CHECK(squares[w] / counts[w] == Approx(2).margin(4 * std::sqrt(20 / expected)));
  }
}

TEST_CASE("superposed clocks go on from wherever they were saved") {
  GradientRings rings(5, 1.0, Seeds(8));
  for (int taken = 0; taken < 300; ++taken) {
    ArchiveWriter writer;
    rings.persist(writer);
    const std::vector<std::byte> saved = writer.take();
    GradientRings again(5, 1.0, Seeds(8));
    ArchiveReader reader(saved);
    again.persist(reader);
    GradientRings same = rings;
    for (std::size_t k = 0; k < 150; ++k) {
      const GradientRings::Ring a = same.pop(), b = again.pop();
      REQUIRE(a.seconds == b.seconds);
      REQUIRE(a.worker == b.worker);
      if (k <= GradientRings::kAhead) REQUIRE(rings.ahead(k).worker == a.worker);
    }
    rings.pop();
  }
}

TEST_CASE("superposed clocks are not read from what cannot be") {
  ArchiveWriter writer;
  writer(std::uint64_t{0}, 0.0, std::uint64_t{1000});
  const std::vector<std::byte> saved = writer.take();
  ArchiveReader reader(saved);
  GradientRings rings(5, 1.0, Seeds(8));
  CHECK_THROWS_AS(rings.persist(reader), Error);
}

TEST_CASE("the uses of any edges are counted, and listed in order") {
  EdgeCounter counter;
  CHECK(counter.list().empty());
  counter.fetch(0, 1);
  std::map<std::pair<int, int>, std::int64_t> expected;
  Stream stream(5);
  for (int k = 0; k < 20'000; ++k) {
    const int i = static_cast<int>(stream.below(k % 2 == 0 ? 30 : 1'000'000));
    const int j = i + 1 + static_cast<int>(stream.below(3));
    counter.fetch(i, j);
    counter.add(i, j);
    ++expected[{i, j}];
  }
  const auto check = [&](const EdgeCounter& counted) {
    const std::vector<EdgeUse> uses = counted.list();
    REQUIRE(uses.size() == expected.size());
    auto use = uses.begin();
    for (const auto& [edge, count] : expected) {
      REQUIRE(std::pair(use->i, use->j) == edge);
      REQUIRE(use->count == count);
      ++use;
    }
  };
  check(counter);
  ArchiveWriter writer;
  counter.persist(writer);
  const std::vector<std::byte> saved = writer.take();
  ArchiveReader reader(saved);
  EdgeCounter again;
  again.persist(reader);
  check(again);
}
