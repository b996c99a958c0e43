#include "tests/cluster/delay_line.hpp"

#include <cstddef>

#include "tests/catch.hpp"

using namespace acid::test;

namespace {

Frame frame_of(std::size_t bytes, int mark = 0) { return {bytes, static_cast<std::byte>(mark)}; }

}  // namespace

TEST_CASE("a frame arrives after the latency, not before, and only once") {
  DelayLine line({.latency_seconds = 0.05}, 1);
  CHECK_FALSE(line.next_arrival());
  REQUIRE(line.send(10, frame_of(100, 7)));
  CHECK(line.next_arrival() == Approx(10.05));
  CHECK_FALSE(line.receive(10.049));
  CHECK(line.receive(10.051) == frame_of(100, 7));
  CHECK_FALSE(line.receive(20));
}

TEST_CASE("frames take turns at the bandwidth and keep their order") {
  DelayLine line({.latency_seconds = 1, .bandwidth_bytes_per_second = 1000}, 1);
  REQUIRE(line.send(0, frame_of(500, 1)));
  REQUIRE(line.send(0, frame_of(100, 2)));
  CHECK(line.next_arrival() == Approx(1.5));
  CHECK(line.receive(1.55) == frame_of(500, 1));
  CHECK(line.next_arrival() == Approx(1.6));
  CHECK(line.receive(1.65) == frame_of(100, 2));
  REQUIRE(line.send(5, frame_of(1000, 3)));  // the line was idle meanwhile: nothing is saved up
  CHECK(line.next_arrival() == Approx(7));
}

TEST_CASE("flows take turns, and one that had nothing waiting comes first") {
  DelayLine line({.bandwidth_bytes_per_second = 100}, 1);
  for (int k = 0; k < 3; ++k) REQUIRE(line.send(0, frame_of(100, k), 1));
  REQUIRE(line.send(0.5, frame_of(100, 10), 2));  // while the first is sent
  REQUIRE(line.send(0.5, frame_of(100, 11), 2));
  std::vector<int> order;
  for (double now = 1; now <= 5; ++now)
    while (const auto frame = line.receive(now)) order.push_back(static_cast<int>(frame->front()));
  CHECK(order == std::vector{0, 1, 10, 2, 11});
  CHECK_FALSE(line.next_arrival());
}

TEST_CASE("what finds no room in the queue is lost, and room comes back with time") {
  DelayLine line({.bandwidth_bytes_per_second = 1000, .queue_bytes = 1000}, 1);
  CHECK(line.send(0, frame_of(600)));
  CHECK_FALSE(line.send(0, frame_of(600)));
  CHECK(line.send(0, frame_of(400)));
  CHECK_FALSE(line.send(0.5, frame_of(600)));
  CHECK(line.send(0.7, frame_of(600)));
}

TEST_CASE("loss hits the share of frames that was asked for, the same ones for the same seed") {
  const auto lost_of = [](double loss, std::uint64_t seed) {
    DelayLine line({.loss = loss}, seed);
    int lost = 0;
    for (int k = 0; k < 10'000; ++k) lost += line.send(k, frame_of(10)) ? 0 : 1;
    return lost;
  };
  CHECK(lost_of(0, 1) == 0);
  CHECK(lost_of(1, 1) == 10'000);
  CHECK(lost_of(0.1, 1) == Approx(1000).epsilon(0.15));
  CHECK(lost_of(0.1, 1) == lost_of(0.1, 1));
}
