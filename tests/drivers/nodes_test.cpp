#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/rng.hpp"
#include "engine/methods/cards.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/fixture.hpp"

using namespace acid;
using test::Setup;

namespace {

constexpr double kVector = 4000;  // bytes of the test's quadratic
constexpr int kRounds = 5;

NetworkModel network_of(int workers, std::vector<int> per_node, double bytes_per_second) {
  NetworkModel network;
  network.link = {0.25, bytes_per_second};
  network.workers_per_node = std::move(per_node);
  network.settle(workers);
  return network;
}

double seconds_of(const std::string& algorithm, const NetworkModel& network,
                  const std::string& graph = "complete", double scale = 1, int rounds = kRounds) {
  Setup setup;
  setup.topology = {{"kind", graph}};
  setup.algorithm = algorithm;
  setup.task = {{"dimension", static_cast<int>(kVector) / 4}};
  setup.spec.budget.gradients = rounds * setup.workers;
  setup.virtual_time.network = network;
  setup.virtual_time.compute.gradient_seconds = scale;
  setup.virtual_time.cost.buckets = 1;
  return setup.run().position.seconds;
}

}  // namespace

TEST_CASE("rates of messages on shared cards are max-min fair at every moment") {
  constexpr int kCards = 5;
  Stream stream(4, 1);
  Cards cards({1, 2, 3, 4, 5});
  double now = 0, sent = 0, total = 0;
  int names = 0, under_way = 0;
  for (int step = 0; step < 400; ++step) {
    if (under_way < 12 && stream.below(2) == 0) {
      const auto from = static_cast<int>(stream.below(kCards));
      const auto to = (from + 1 + static_cast<int>(stream.below(kCards - 1))) % kCards;
      const double bytes = 1 + stream.uniform();
      cards.begin(names++, {from, to, -1}, bytes, stream.below(3) == 0 ? 0.1 : 0, now);
      total += bytes;
      ++under_way;
    } else if (under_way > 0) {
      const std::vector<double> load = cards.load();
      sent += std::accumulate(load.begin(), load.end(), 0.0) / 2 * (cards.next_end() - now);
      now = cards.next_end();
      under_way -= static_cast<int>(cards.end_next().size());
      continue;
    }
    const std::vector<double> load = cards.load();
    for (std::size_t card = 0; card < load.size(); ++card)
      REQUIRE(load[card] <= (static_cast<double>(card) + 1) * (1 + 1e-9));
    if (under_way > 0 && stream.below(2) == 0) {  // somewhere on the way to the next end
      const double then = now + stream.uniform() * (cards.next_end() - now);
      sent += std::accumulate(load.begin(), load.end(), 0.0) / 2 * (then - now);
      now = then;
    }
  }
  while (!cards.idle()) {
    const std::vector<double> load = cards.load();
    sent += std::accumulate(load.begin(), load.end(), 0.0) / 2 * (cards.next_end() - now);
    now = cards.next_end();
    cards.end_next();
  }
  CHECK(sent == Approx(total).epsilon(1e-9));
}

TEST_CASE("a message gets what those that need less leave on its cards") {
  Cards cards({10, 100, 100, 8});
  cards.begin(0, {0, 1, -1}, 100, 2, 0);  // its link carries 2
  cards.begin(1, {0, 2, -1}, 100, 0, 0);  // the other 8 of card 0
  CHECK(cards.load()[0] == Approx(10));
  CHECK(cards.next_end() == Approx(12.5));
  cards.begin(2, {1, 2, 3}, 40, 0, 0);  // all of its path
  cards.begin(3, {1, 2, 3}, 40, 0, 0);
  CHECK(cards.load()[3] == Approx(8));
  CHECK(cards.next_end() == Approx(10));
  CHECK(cards.end_next() == std::vector<int>{2, 3});
  CHECK(cards.end_next() == std::vector<int>{1});
  CHECK(cards.next_end() == Approx(50));
}

TEST_CASE("messages of a node's workers share its card") {
  // Of the 7 neighbours of a worker 4 are on the other of 2 nodes: 16 messages cross each way.
  CHECK(seconds_of("d-psgd", network_of(8, {4}, kVector)) == Approx(kRounds * 16.25));
  CHECK(seconds_of("d-psgd", network_of(8, {6, 2}, kVector)) == Approx(kRounds * 12.25));
  // Inside a node nothing takes time unless it is said.
  NetworkModel inside = network_of(8, {8}, kVector);
  CHECK(seconds_of("d-psgd", inside) == Approx(kRounds));
  inside.inside = {0.5, kVector / 2};
  CHECK(seconds_of("d-psgd", inside) == Approx(kRounds * (7 * 2 + 0.5)));
  // On a ring of 2 nodes each card has 2 messages each way at once.
  CHECK(seconds_of("d-psgd", network_of(8, {4}, kVector), "ring") == Approx(kRounds * 2.25));
}

TEST_CASE("pairs share cards while they are under way") {
  const auto seconds = [](const std::vector<int>& per_node) {
    NetworkModel network = network_of(8, per_node, 2 * kVector);
    network.inside = network.link;
    return seconds_of("ad-psgd", network, "complete", 1, 100);
  };
  // Often more than one of a node's 4 workers exchange with the other node.
  CHECK(seconds({4}) > 1.05 * seconds({}));
  CHECK(seconds({8}) == seconds({}));
}

TEST_CASE("one worker on each node is a network without nodes, bit for bit") {
  for (const char* algorithm : {"ad-psgd", "d-psgd", "ar-sgd", "sgp"})
    CHECK(seconds_of(algorithm, network_of(8, {1}, 2 * kVector)) ==
          seconds_of(algorithm, network_of(8, {}, 2 * kVector)));
}

TEST_CASE("twice the durations are twice the seconds, and bandwidth slows no synchronous method") {
  for (const char* algorithm : {"d-psgd", "ar-sgd"})
    for (const std::vector<int>& per_node : {std::vector<int>{}, {2}, {5, 3}}) {
      double before = 1e300;
      for (const double bandwidth : {kVector / 4, kVector / 2, kVector, 3 * kVector}) {
        INFO(algorithm << " at " << bandwidth);
        const NetworkModel network = network_of(8, per_node, bandwidth);
        const double seconds = seconds_of(algorithm, network, "exponential");
        NetworkModel slow = network;
        slow.link = {2 * network.link.latency_seconds, bandwidth / 2};
        slow.settle(8);
        CHECK(seconds_of(algorithm, slow, "exponential", 2) == Approx(2 * seconds));
        CHECK(seconds <= before * (1 + 1e-9));
        before = seconds;
      }
    }
}

TEST_CASE("a run's own factor is on all its times, by its seed alone") {
  const auto seconds = [](const std::string& algorithm, std::uint64_t seed, double variation) {
    Setup setup;
    setup.workers = 6;
    setup.algorithm = algorithm;
    setup.seed = seed;
    setup.spec.budget.gradients = 60;
    setup.task = {{"dimension", static_cast<int>(kVector) / 4}};
    NetworkModel& network = setup.virtual_time.network;
    network = network_of(6, {3}, 1e4);
    network.inside = {0.01, 1e5};
    network.edges[{0, 5}] = {0.5, 1e3};
    network.overhead = {0.02, 0.03, 0.04};
    setup.virtual_time.cost.exchange_seconds = 0.05;
    setup.virtual_time.compute.kind = ComputeKind::exponential;
    setup.virtual_time.variation = variation;
    return setup.run().position.seconds;
  };
  std::vector<double> logarithms;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const double factor = seconds("ar-sgd", seed, 0.1) / seconds("ar-sgd", seed, 0);
    for (const char* const other : {"d-psgd", "ad-psgd", "local-sgd"}) {
      INFO(other << ", seed " << seed);
      CHECK(seconds(other, seed, 0.1) == Approx(factor * seconds(other, seed, 0)).epsilon(1e-9));
    }
    logarithms.push_back(std::log(factor));
  }
  double sum = 0, squares = 0;
  for (const double one : logarithms) sum += one, squares += one * one;
  CHECK(std::abs(sum / 40) < 0.05);
  CHECK(std::sqrt(squares / 40) == Approx(0.1).epsilon(0.35));
}

TEST_CASE("a hierarchical all-reduce goes round inside the nodes and among them") {
  NetworkModel network = network_of(8, {4}, 1e6);
  network.inside = {0.001, 1e7};
  network.all_reduce = AllReduceKind::hierarchical;
  const double inside = 6 * (0.001 + 0.25 * 0.1), among = 2 * (0.25 + 0.5);
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(inside + among));
  network.backend_factor = 0.5;
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(6 * (0.001 + 0.05) + 2 * (0.25 + 1)));
  // In the last step of recursive doubling all 4 workers of a node send at once.
  network.backend_factor = 1;
  network.all_reduce = AllReduceKind::recursive_doubling;
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(2 * (0.001 + 0.1) + 0.25 + 4));
}

TEST_CASE("messages over paths of a matrix do not wait for each other, alone on a node or not") {
  for (const int workers : {3, 6}) {
    INFO(workers);
    NetworkModel sites;
    sites.link = {0, 1e9};
    for (int a = 0; a < workers; ++a)
      for (int b = a + 1; b < workers; ++b) sites.between_nodes[{a, b}] = {0, kVector / 2};
    NetworkModel more = sites;
    more.workers_per_node.assign(static_cast<std::size_t>(workers), 1);
    for (NetworkModel* const each : {&sites, &more}) {
      Setup setup;
      setup.workers = workers;
      setup.topology = {{"kind", "complete"}};
      setup.algorithm = "d-psgd";
      setup.options = {{"order", "adapt-then-combine"}, {"exchange", "messages"}};
      setup.task = {{"dimension", static_cast<int>(kVector) / 4}};
      setup.spec.budget.gradients = workers;
      setup.virtual_time.compute.gradient_seconds = 1;
      setup.virtual_time.cost.buckets = 1;
      each->all_reduce = AllReduceKind::direct;
      each->settle(workers);
      // Twice an n-th of the vector on each path.
      CHECK(each->all_reduce_seconds(workers, kVector) == Approx(2 * 2.0 / workers));
      setup.virtual_time.network = *each;
      CHECK(setup.run().position.seconds == Approx(1 + 2).epsilon(1e-4));
    }
  }
}

TEST_CASE("no all-reduce is faster than the nodes' cards, whatever the links between them") {
  for (const AllReduceKind kind :
       {AllReduceKind::ring, AllReduceKind::blocking, AllReduceKind::hierarchical}) {
    NetworkModel network;
    network.link = {0, 100};
    network.all_reduce = kind;
    network.workers_per_node = {2};
    const auto seconds = [&](NetworkModel links) {
      links.settle(4);
      return links.all_reduce_seconds(4, 1000);
    };
    const double with_cards = seconds(network);
    NetworkModel matrix = network, edges = network;
    matrix.between_nodes[{0, 1}] = {0, 10'000};
    for (const auto& ends : {std::pair{0, 2}, {0, 3}, {1, 2}, {1, 3}})
      edges.edges[ends] = {0, 10'000};
    CHECK(seconds(matrix) == Approx(with_cards));
    CHECK(seconds(edges) == Approx(with_cards));
    matrix.between_nodes[{0, 1}] = {0, 10};  // a slower one is slower
    CHECK(seconds(matrix) > 5 * with_cards);
  }
}

TEST_CASE("a direct all-reduce sends pieces from each to each, over the cards of the nodes") {
  NetworkModel network = network_of(8, {4}, 1e6);
  network.inside = {0.001, 1e7};
  network.all_reduce = AllReduceKind::direct;
  // Each of a node's 4 workers sends an eighth to 4 workers elsewhere, and then the sums.
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(2 * (0.25 + 2)));
  network.overhead.all_reduce_seconds = 0.5;
  CHECK(network.all_reduce_seconds(8, 1e6) == Approx(2 * (0.25 + 2) + 0.5));
  NetworkModel alike;
  alike.link = {0.25, 1e6};
  alike.all_reduce = AllReduceKind::direct;
  alike.settle(5);
  CHECK(alike.all_reduce_seconds(5, 1e6) == Approx(2 * (0.25 + 0.8)));
}

TEST_CASE("overhead makes exchanges between nodes longer, and no others") {
  NetworkModel network = network_of(8, {1}, 1e5);
  const auto longer = [&](const char* algorithm, ExchangeOverhead overhead) {
    NetworkModel slow = network;
    slow.overhead = overhead;
    return seconds_of(algorithm, slow, "ring", 0.01, 20) -
           seconds_of(algorithm, network, "ring", 0.01, 20);
  };
  CHECK(longer("d-psgd", {.neighbours_seconds = 0.5}) == Approx(0.5 * 20).margin(0.5));
  CHECK(longer("ar-sgd", {.all_reduce_seconds = 0.5}) == Approx(0.5 * 20));
  CHECK(longer("ad-psgd", {.exchange_seconds = 5}) > 30);
  CHECK(longer("ad-psgd", {.neighbours_seconds = 5, .all_reduce_seconds = 5}) == 0);
  network = network_of(8, {8}, 1e5);
  CHECK(longer("ad-psgd", {.exchange_seconds = 5}) == 0);
  CHECK(longer("d-psgd", {.neighbours_seconds = 5}) == 0);
}

TEST_CASE("a window limits a link by its round trip, and a path is shared") {
  NetworkModel network;
  network.link = {0.05, 1e8};
  network.window_bytes = 1e5;
  network.workers_per_node = {4};
  network.between_nodes[{0, 1}] = {0.1, 2e6};
  network.settle(12);
  CHECK(network.between(0, 11).most_bytes_per_second() == Approx(1e6));
  CHECK(network.between(0, 4).most_bytes_per_second() == Approx(5e5));
  CHECK(network.between(0, 3).is_instant());
  CHECK(network.cards(false).back() == 2e6);
  CHECK(network.way(0, 4, false) == SharedWay{0, 1, 3});
  CHECK(network.way(4, 0, true) == SharedWay{1, 3, 7});
  CHECK(network.way(0, 11, true) == SharedWay{0, 5, -1});
}
