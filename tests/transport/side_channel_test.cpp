// The side channel between threads that stand for processes.
#include "engine/transport/side_channel.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/transport/handshake.hpp"
#include "engine/transport/meeting.hpp"
#include "tests/catch.hpp"
#include "tests/transport/letters.hpp"

using namespace acid;
using namespace acid::test;

namespace {

// For processes that one thread plays in turn, so that none waits for a core while others go on.
constexpr SideChannelOptions kImpatient{0.1, 0.5};

/// Processes that have met, each with its own options.
std::vector<std::unique_ptr<SideChannel>> channels(const std::vector<SideChannelOptions>& options) {
  const std::size_t size = options.size();
  const int count = static_cast<int>(size);
  std::vector<Listener> listeners;
  std::vector<Card> cards;
  std::vector<ProcessPlace> places;
  for (int rank = 0; rank < count; ++rank) {
    listeners.push_back(listen_to_others(rank, "", "lo"));
    cards.push_back(listeners.back().card);
    places.push_back(cards.back().place);
  }
  const std::string secret = new_secret();
  std::vector<std::vector<Descriptor>> connections(size);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < size; ++rank)
    threads.emplace_back(
        [&, rank] { connections[rank] = meet(listeners[rank], cards, secret, 60); });
  for (std::thread& thread : threads) thread.join();
  std::vector<std::unique_ptr<SideChannel>> all;
  for (int rank = 0; rank < count; ++rank)
    all.push_back(std::make_unique<SideChannel>(
        rank, places, std::move(connections[static_cast<std::size_t>(rank)]),
        options[static_cast<std::size_t>(rank)]));
  return all;
}

std::vector<std::unique_ptr<SideChannel>> channels(int count,
                                                   const SideChannelOptions& options = {}) {
  return channels(std::vector(static_cast<std::size_t>(count), options));
}

SideChannel::Message receive(SideChannel& channel) {
  while (true) {
    if (auto message = channel.next()) return std::move(*message);
    channel.wait(10);
  }
}

/// The error of wait() when a process is lost; empty when none is lost within `seconds`.
std::string failure_within(SideChannel& channel, double seconds) {
  const SteadyClock clock;
  const double until = clock.seconds() + seconds;
  try {
    while (clock.seconds() < until) channel.wait(until - clock.seconds());
  } catch (const LostProcess& lost) {
    return lost.what();
  }
  return "";
}

std::string failure_of(SideChannel& channel) { return failure_within(channel, 60); }

}  // namespace

TEST_CASE("side messages of any size arrive whole and in order") {
  const auto all = channels(3);
  std::vector<std::thread> threads;
  constexpr int kRounds = 20;
  std::atomic<int> wrong = 0;
  for (int rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      SideChannel& channel = *all[static_cast<std::size_t>(rank)];
      const auto size_of = [](int round) -> std::size_t {
        constexpr std::size_t kSizes[] = {0, 1, 100, 65535, Transport::kMostHeaderBytes};
        return kSizes[round % 5];
      };
      // No process reads before all have sent more than a connection holds.
      for (int round = 0; round < kRounds; ++round)
        for (int to = 0; to < 3; ++to)
          if (to != rank)
            channel.send(to, letter("head"), letter(std::string(size_of(round), 'a')));
      std::vector<int> heard(3, 0);
      for (int k = 0; k < 2 * kRounds; ++k) {
        const auto message = receive(channel);
        const int round = heard[static_cast<std::size_t>(message.from)]++;
        if (text(message.bytes) != "head" + std::string(size_of(round), 'a')) ++wrong;
      }
      channel.leave(30);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("a message of more than the limit is a mistake of ours") {
  const auto all = channels(2);
  const std::string large(SideChannel::kMostBytes + 1, 'x');
  CHECK_THROWS_AS(all[0]->send(1, letter(large)), AssertionError);
}

TEST_CASE("side channel: wake() ends a wait, the next one too") {
  const auto all = channels(2);
  CHECK_FALSE(all[0]->wait(0.01));
  all[0]->wake();
  CHECK(all[0]->wait(60));
  CHECK_FALSE(all[0]->wait(0));
  std::thread waker([&] { all[0]->wake(); });
  CHECK(all[0]->wait(60));
  waker.join();
}

TEST_CASE("a connection that ends without farewell is a loss, which all the others name") {
  auto all = channels(4);
  all[2].reset();
  for (const int rank : {0, 1, 3}) {
    const auto& channel = all[static_cast<std::size_t>(rank)];
    CHECK_THAT(failure_of(*channel),
               ContainsSubstring("worker 2 (process") && ContainsSubstring("was lost: "));
    CHECK_THROWS_AS(channel->next(), LostProcess);
    CHECK_THROWS_AS(channel->send(0, {}), LostProcess);
    CHECK_THROWS_AS(channel->wait(0), LostProcess);
    channel->leave(1);
  }
}

TEST_CASE("a process that goes because another was lost is not taken for that one") {
  for (int repetition = 0; repetition < 10; ++repetition) {
    auto all = channels(3);
    all[2].reset();
    CHECK_THAT(failure_of(*all[1]), ContainsSubstring("worker 2 (process"));
    all[1].reset();
    CHECK_THAT(failure_of(*all[0]), ContainsSubstring("worker 2 (process"));
  }
}

TEST_CASE("the end of a process that said farewell is no failure, and what it sent arrives") {
  auto all = channels(2);
  const std::string large(Transport::kMostHeaderBytes, 'z');
  std::thread leaver([&] {
    for (int k = 0; k < 8; ++k) all[1]->send(0, letter(large));
    all[1]->leave(60);
    all[1].reset();
  });
  all[0]->send(1, letter("never read: the connection ends with a reset"));
  for (int k = 0; k < 8; ++k) CHECK(receive(*all[0]).bytes.size() == large.size());
  leaver.join();
  for (int k = 0; k < 5; ++k) all[0]->wait(0.01);
  CHECK(all[0]->has_left(1));
  all[0]->send(1, letter("vanishes"));
  CHECK_FALSE(all[0]->next());
  all[0]->leave(60);
}

TEST_CASE("a process that is silent for too long is lost to worker 0, who tells the others") {
  auto all = channels(3, kImpatient);
  std::string found, told;
  const SteadyClock clock;
  const double until = clock.seconds() + 60;
  // Worker 2 does not call wait().
  while ((found.empty() || told.empty()) && clock.seconds() < until) {
    if (found.empty()) found = failure_within(*all[0], 0.02);
    if (told.empty()) told = failure_within(*all[1], 0.02);
  }
  CHECK_THAT(found,
             ContainsSubstring("worker 2 (process") && ContainsSubstring("nothing was heard"));
  CHECK(told == found);
}

TEST_CASE("the others miss worker 0 when it is silent") {
  auto all = channels(2, kImpatient);
  CHECK_THAT(failure_of(*all[1]),
             ContainsSubstring("worker 0 (process") && ContainsSubstring("nothing was heard"));
}

TEST_CASE("a stopped process first reads what has arrived, and counts its own time only") {
  // Only 0.2 s of each 0.7 s count, so that 2.5 s do not pass, however late a heartbeat comes.
  const auto all = channels({{0.1, 2.5}, {}});
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) all[1]->wait(0.05);
  });
  for (int k = 0; k < 4; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(700));
    all[0]->wait(0);
  }
  over = true;
  other.join();
  CHECK_NOTHROW(all[0]->check_alive());
}

TEST_CASE("two that were stopped at once for longer than the limit do not miss each other") {
  const auto all = channels(2, kImpatient);
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  all[0]->wait(0);
  all[1]->wait(0);
  all[0]->wait(0);
  CHECK_NOTHROW(all[1]->check_alive());
  CHECK_NOTHROW(all[0]->check_alive());
}

TEST_CASE("an outlived loss is told after the last words, and what is sent to the lost vanishes") {
  auto all = channels(3);
  for (const auto& channel : all) channel->outlive_losses();
  for (const int to : {0, 1}) all[2]->send(to, letter("last words"));
  all[2].reset();
  for (const int rank : {0, 1}) {
    SideChannel& channel = *all[static_cast<std::size_t>(rank)];
    const auto words = receive(channel);
    CHECK(text(words.bytes) == "last words");
    CHECK(words.lost == "");
    const auto loss = receive(channel);
    CHECK(loss.from == 2);
    CHECK(loss.lost == "it closed its connection");
    CHECK(channel.is_lost(2));
    CHECK(channel.has_left(2));
    channel.send(2, letter("never read"));
  }
  all[0]->send(1, letter("we go on"));
  CHECK(text(receive(*all[1]).bytes) == "we go on");
}

TEST_CASE("what worker 0 says of a loss holds for all, the lost process among them") {
  const SideChannelOptions patient{0.1, 60};
  const auto all = channels({kImpatient, patient, patient});
  for (const auto& channel : all) channel->outlive_losses();
  while (!all[0]->is_lost(2)) {  // it says nothing
    all[0]->wait(0.05);
    all[1]->wait(0);
  }
  const auto loss = receive(*all[1]);
  CHECK(loss.from == 2);
  CHECK_THAT(loss.lost, ContainsSubstring("nothing was heard of it"));
  CHECK_THAT(failure_of(*all[2]),
             ContainsSubstring("worker 2 (process") && ContainsSubstring("go on without it"));
}

TEST_CASE(
    "what others say of a loss worker 0 believes after a while, of two who blame each other one") {
  const SideChannelOptions busy{0.1, 60};
  const auto all = channels(4, busy);
  for (const auto& channel : all) channel->outlive_losses();
  all[0]->suspect(2, "its memory cannot be read");
  CHECK_FALSE(all[0]->is_lost(2));
  all[2]->send(0, letter("last words"));
  CHECK(text(receive(*all[0]).bytes) == "last words");
  CHECK(receive(*all[0]).lost == "its memory cannot be read");
  CHECK(receive(*all[1]).from == 2);
  CHECK_THAT(failure_of(*all[2]),
             ContainsSubstring("worker 2 (process") && ContainsSubstring("go on without it"));
  CHECK_FALSE(all[0]->is_lost(3));
}

TEST_CASE("no process outlives the loss of worker 0") {
  auto all = channels(3);
  for (const auto& channel : all) channel->outlive_losses();
  all[0].reset();
  for (const int rank : {1, 2})
    CHECK_THAT(failure_of(*all[static_cast<std::size_t>(rank)]),
               ContainsSubstring("worker 0 (process"));
}
