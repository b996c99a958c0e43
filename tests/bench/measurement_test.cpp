#include "bench/measurement.hpp"

#include <string>

#include "tests/catch.hpp"

namespace acid::test {
namespace {

using namespace acid::bench;

Row row_of(std::vector<double> measured, std::vector<double> peers, std::optional<Wanted> wanted) {
  Row row;
  for (const double value : measured) row.measured.push_back({value});
  for (const double value : peers) row.peers.push_back({value});
  row.wanted = wanted;
  return row;
}

}  // namespace

TEST_CASE("a spread is the least, the median and the most, of even numbers and odd") {
  const Spread odd = spread_of({5, 1, 3});
  CHECK(odd.least == 1);
  CHECK(odd.median == 3);
  CHECK(odd.most == 5);
  CHECK(spread_of({4, 1, 3, 2}).median == 2.5);
  CHECK(spread_of({7}).median == 7);
  CHECK_THROWS(spread_of({}));
}

TEST_CASE("ratios are taken round by round, so that a slow round of both sides cancels out") {
  const Row row = row_of({10, 1, 20}, {20, 2, 20}, {});
  const auto ratio = ratio_spread(row);
  REQUIRE(ratio);
  CHECK(ratio->least == 0.5);
  CHECK(ratio->median == 0.5);
  CHECK(ratio->most == 1);
  CHECK_FALSE(ratio_spread(row_of({1, 2}, {}, {})));
}

TEST_CASE("a budget is met by the median, of the ratio or of the value, in its direction") {
  CHECK_FALSE(met(row_of({1}, {1}, {})));
  CHECK(met(row_of({9, 1, 9}, {10, 10, 10}, ratio_at_least(0.9))) == true);
  CHECK(met(row_of({8, 8, 10}, {10, 10, 10}, ratio_at_least(0.9))) == false);
  CHECK(met(row_of({8, 8, 99}, {10, 10, 10}, ratio_at_most(0.9))) == true);
  CHECK(met(row_of({3, 11, 4}, {}, value_at_most(10))) == true);
  CHECK(met(row_of({3, 11, 12}, {1, 1, 1}, value_at_most(10))) == false);
  CHECK(met(row_of({600}, {}, value_at_least(500))) == true);
  CHECK_THROWS(met(row_of({1}, {}, ratio_at_least(1))));
}

TEST_CASE("CPU seconds per gradient are compared where both sides computed gradients") {
  Row row = row_of({1, 1}, {1, 1}, {});
  CHECK_FALSE(cpu_ratio(row));
  row.measured[0].cpu_seconds_per_gradient = 0.006;
  row.measured[1].cpu_seconds_per_gradient = 0.009;
  CHECK(cpu_seconds_per_gradient(row.measured) == Approx(0.0075));
  CHECK_FALSE(cpu_ratio(row));
  row.peers[0].cpu_seconds_per_gradient = 0.005;
  row.peers[1].cpu_seconds_per_gradient = 0.005;
  CHECK(cpu_ratio(row) == Approx(1.5));
}

TEST_CASE("every side is measured once in every round, in turns forwards and backwards") {
  Bench bench({.rounds = 3, .seconds = {}}, false);
  bench.begin("turns");
  std::string order;
  const auto side = [&](char name) {
    return [&order, name] {
      order += name;
      return Sample{static_cast<double>(name)};
    };
  };
  const auto samples = bench.interleave("three", {side('a'), side('b'), side('c')});
  CHECK(order == "abccbaabc");
  REQUIRE(samples.size() == 3);
  for (const auto& rounds : samples) CHECK(rounds.size() == 3);
  CHECK(samples[2][1].value == 'c');

  bench.compare({"two", "1", "peer"}, side('a'), side('b'));
  bench.compare({"one", "1"}, side('a'));
  REQUIRE(bench.rows().size() == 2);
  CHECK(bench.rows()[0].peers.size() == 3);
  CHECK(bench.rows()[1].peers.empty());
  CHECK(bench.rows()[1].command == "turns");
}

}  // namespace acid::test
