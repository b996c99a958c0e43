#include "tests/transport/local_cluster.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"
#include "tests/transport/letters.hpp"

using namespace acid;
using namespace acid::test;

TEST_CASE("a lost process is named with its host and how one knows") {
  const LostProcess lost({3, "node7", 4711}, "it closed its connection");
  CHECK(std::string(lost.what()) ==
        "worker 3 (process 4711 on node7) was lost: it closed its connection");
  CHECK(lost.rank() == 3);
  CHECK(lost.code() == Exit::lost);
}

TEST_CASE("local messages arrive once, in order, one's own included") {
  LocalCluster cluster(2);
  for (const int to : {0, 1}) {
    for (int k = 0; k < 5; ++k) cluster.at(1).send(to, letter(std::to_string(k)));
    for (int k = 0; k < 5; ++k) {
      const auto mail = cluster.at(to).next();
      REQUIRE(mail);
      CHECK(mail->from == 1);
      CHECK(text(mail->header) == std::to_string(k));
      CHECK(mail->body_size == 0);
    }
    CHECK_FALSE(cluster.at(to).next());
  }
}

TEST_CASE("a local body is sent once it was fetched") {
  LocalCluster cluster(2);
  for (const int to : {0, 1}) {
    std::vector<float> body(1000);
    std::iota(body.begin(), body.end(), 0.0F);
    const auto sent = cluster.at(0).send(to, letter("here"), body);
    CHECK_FALSE(cluster.at(0).done(sent));
    const auto mail = cluster.at(to).next();
    REQUIRE(mail);
    REQUIRE(mail->body_size == body.size());
    std::vector<float> into(body.size());
    const auto fetched = cluster.at(to).fetch(*mail, into);
    CHECK(into == body);
    for (int repetition = 0; repetition < 2; ++repetition) {
      CHECK(cluster.at(to).done(fetched));
      CHECK(cluster.at(0).done(sent));
    }
    CHECK_THROWS_AS(cluster.at(to).fetch(*mail, into), AssertionError);
  }
}

TEST_CASE("a local message without a body is done at once") {
  LocalCluster cluster(2);
  CHECK(cluster.at(0).done(cluster.at(0).send(1, letter("a"))));
  const auto mail = cluster.at(1).next();
  REQUIRE(mail);
  CHECK(cluster.at(1).done(cluster.at(1).fetch(*mail, {})));
}

TEST_CASE("a local process sleeps until a message, a fetch or wake() ends it") {
  const SteadyClock clock;
  LocalCluster cluster(2);
  const double begun = clock.seconds();
  cluster.at(0).wait(0.05);
  CHECK(clock.seconds() - begun >= 0.05);

  cluster.at(0).wake();
  cluster.at(0).wait(60);  // the wake() above
  const std::vector<float> body{1};
  const auto sent = cluster.at(0).send(1, {}, body);
  std::thread other([&] {
    const auto mail = receive(cluster.at(1));
    std::vector<float> into(1);
    cluster.at(1).fetch(mail, into);
    cluster.at(1).send(0, letter("thanks"));
  });
  while (!cluster.at(0).done(sent)) cluster.at(0).wait(60);
  CHECK(text(receive(cluster.at(0)).header) == "thanks");
  other.join();
  std::thread waker([&] { cluster.at(0).wake(); });
  cluster.at(0).wait(60);
  waker.join();
  CHECK(clock.seconds() - begun < 50);
}

TEST_CASE("when a local process is killed, all others' calls name it") {
  LocalCluster cluster(3);
  std::thread waiter(
      [&] { CHECK_THROWS_WITH(cluster.at(2).wait(60), ContainsSubstring("worker 1 (process")); });
  cluster.kill(1);
  waiter.join();
  for (int rank = 0; rank < 3; ++rank) {
    CHECK_THROWS_AS(cluster.at(rank).send(0, {}), LostProcess);
    CHECK_THROWS_AS(cluster.at(rank).next(), LostProcess);
    CHECK_THROWS_AS(cluster.at(rank).done(1), LostProcess);
    CHECK_THROWS_AS(cluster.at(rank).wait(0), LostProcess);
    cluster.at(rank).wake();
    cluster.at(rank).leave();
  }
}

TEST_CASE("the end of a local process that has left is no failure, and its mail vanishes") {
  LocalCluster cluster(2);
  const std::vector<float> body(8);
  const auto before = cluster.at(0).send(1, {}, body);
  CHECK_FALSE(cluster.at(0).done(before));
  cluster.at(1).leave();
  cluster.kill(1);
  CHECK(cluster.at(0).done(before));
  CHECK(cluster.at(0).done(cluster.at(0).send(1, {}, body)));
}

TEST_CASE("a local process that leaves waits until its bodies were fetched") {
  LocalCluster cluster(2);
  std::thread leaver([&] {
    const std::vector<float> body{42};
    cluster.at(0).send(1, {}, body);
    cluster.at(0).leave();
  });
  const auto mail = receive(cluster.at(1));
  std::vector<float> into(1);
  cluster.at(1).fetch(mail, into);
  leaver.join();
  CHECK(into[0] == 42);
}

TEST_CASE("a local process that is outlived is told of last, and its bodies never arrive") {
  LocalCluster cluster(3);
  const std::vector<float> body(8);
  for (const int rank : {0, 1, 2}) cluster.at(rank).outlive_losses();
  cluster.at(1).send(2, letter("word"));
  cluster.at(1).send(2, letter("body"), body);
  const auto sent = cluster.at(2).send(1, letter("to it"), body);
  cluster.kill(1);
  CHECK(cluster.at(2).done(sent));
  CHECK(cluster.at(2).done(cluster.at(2).send(1, {}, body)));
  CHECK(text(cluster.at(2).next()->header) == "word");
  const auto mail = cluster.at(2).next();
  std::vector<float> into(8);
  const auto fetched = cluster.at(2).fetch(*mail, into);
  CHECK_FALSE(cluster.at(2).done(fetched));
  for (const int rank : {0, 2}) {
    const auto loss = cluster.at(rank).next();
    REQUIRE(loss);
    CHECK(loss->from == 1);
    CHECK(loss->lost == "it closed its connection without leaving");
    CHECK_FALSE(cluster.at(rank).next());
  }
  CHECK_THROWS_AS(cluster.at(1).next(), LostProcess);
  cluster.kill(0);
  CHECK_THROWS_AS(cluster.at(2).next(), LostProcess);
}
