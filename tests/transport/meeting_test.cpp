// How the processes of a run find each other; threads stand for processes.
#include "engine/transport/meeting.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/transport/handshake.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

/// Listens at one address only, while other listeners may use the same port.
Descriptor listen_at(const char* address, std::uint16_t& port) {
  Descriptor opened(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  REQUIRE(::inet_pton(AF_INET, address, &name.sin_addr) == 1);
  REQUIRE(::bind(opened.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  REQUIRE(::listen(opened.get(), 16) == 0);
  socklen_t size = sizeof name;
  REQUIRE(::getsockname(opened.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0);
  port = ntohs(name.sin_port);
  return opened;
}

Card card(int rank, const std::string& host, std::uint16_t port,
          const std::vector<std::string>& addresses) {
  Card one;
  one.place.rank = rank;
  one.place.host = host;
  one.place.pid = 99;
  one.port = port;
  one.addresses = addresses;
  return one;
}

std::vector<Card> cards_of(const std::vector<Listener>& listeners) {
  std::vector<Card> cards;
  for (const Listener& one : listeners) cards.push_back(parse_card(one.card.text()));
  return cards;
}

std::vector<Listener> listeners(int count) {
  std::vector<Listener> all;
  for (int rank = 0; rank < count; ++rank) all.push_back(listen_to_others(rank, "", ""));
  return all;
}

/// A connection of which the process knows nothing yet.
Descriptor connected_to(const Listener& listener) {
  Descriptor caller(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(listener.card.port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(caller.get(), reinterpret_cast<sockaddr*>(&name), sizeof name) == 0);
  return caller;
}

/// The result of each process: empty when it met the others.
std::vector<std::string> outcomes(const std::vector<Listener>& all,
                                  const std::vector<std::string>& secrets, double seconds) {
  const std::vector<Card> cards = cards_of(all);
  std::vector<std::string> said(all.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    threads.emplace_back([&, rank] {
      try {
        const auto met = meet(all[rank], cards, secrets[rank], seconds);
        for (std::size_t other = 0; other < met.size(); ++other)
          if (static_cast<bool>(met[other]) == (other == rank)) said[rank] = "a connection too few";
      } catch (const Error& error) {
        said[rank] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return said;
}

}  // namespace

TEST_CASE("any number of processes meet") {
  for (const int count : {1, 2, 3, 7}) {
    const auto said = outcomes(listeners(count), std::vector<std::string>(7, new_secret()), 60);
    for (const std::string& one : said) CHECK(one == "");
  }
}

TEST_CASE("a process of another run is turned away, and both sides say what is missing") {
  // Long enough to hear the other's answer on a busy machine.
  std::vector<Listener> all;
  std::vector<std::string> said(2);
  for (double seconds = 1; seconds <= 16 && said[1].find("another run") == std::string::npos;
       seconds *= 2) {
    all = listeners(2);
    said = outcomes(all, {new_secret(), new_secret()}, seconds);
  }
  CHECK_THAT(said[0], ContainsSubstring("worker 1 (process") &&
                          ContainsSubstring("did not call it") &&
                          ContainsSubstring("port " + std::to_string(all[0].card.port)));
  CHECK_THAT(said[1], ContainsSubstring("cannot reach worker 0") &&
                          ContainsSubstring("another run listens there") &&
                          ContainsSubstring("firewall") &&
                          ContainsSubstring("execution.mpi.ports"));
}

TEST_CASE("an address where another program listens is passed over for the next") {
  for (const bool answers : {false, true}) {
    std::uint16_t port = 0;
    std::vector<Listener> all(2);
    all[0].socket = listen_at("127.0.0.1", port);
    const Descriptor stranger = listen_at("127.0.0.2", port);
    all[0].card = card(0, "here", port, {"127.0.0.2", "127.0.0.1"});
    all[1] = listen_to_others(1, "", "lo");
    all[1].card.place.host = "here";
    Descriptor visitor;
    std::jthread rude([&](const std::stop_token& stop) {
      while (!stop.stop_requested() && !visitor) {
        visitor = Descriptor(::accept(stranger.get(), nullptr, nullptr));
        if (!visitor) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      const std::string nonsense(80, 'x');
      if (answers) ::send(visitor.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    });
    const auto said = outcomes(all, std::vector<std::string>(2, new_secret()), 60);
    CHECK(said == std::vector<std::string>(2));
    rude.request_stop();
    rude.join();
    CHECK(visitor);
  }
}

TEST_CASE("a caller that sends nothing, or nonsense, delays no other") {
  const auto all = listeners(2);
  std::vector<Descriptor> callers;
  for (int k = 0; k < 3; ++k) callers.push_back(connected_to(all[0]));
  const std::string nonsense = "GET / HTTP/1.0\r\nHost: somewhere-else\r\n\r\n";
  REQUIRE(::send(callers[1].get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(nonsense.size()));
  callers[2].close();
  const auto said = outcomes(all, std::vector<std::string>(2, new_secret()), 60);
  CHECK(said == std::vector<std::string>(2));
}

TEST_CASE("strangers who say nothing cannot use up the descriptors of a process that meets") {
  const auto all = listeners(2);
  const std::vector<Card> cards = cards_of(all);
  const std::string secret = new_secret();
  std::jthread first([&] { meet(all[0], cards, secret, 60); });
  std::vector<Descriptor> strangers;
  for (int k = 0; k < 300; ++k) strangers.push_back(connected_to(all[0]));
  // The first of them must be turned away, long before the meeting ends.
  const auto was_sent_away = [&] {
    char any = 0;
    return ::recv(strangers.front().get(), &any, 1, MSG_DONTWAIT) == 0;
  };
  for (int k = 0; k < 3000 && !was_sent_away(); ++k)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(was_sent_away());
  CHECK(meet(all[1], cards, secret, 60).size() == 2);
}

TEST_CASE("a process listens on a free port of its range, or says that all are taken") {
  const Listener first = listen_to_others(0, "", "");
  const std::string port = std::to_string(first.card.port);
  CHECK_THROWS_WITH(listen_to_others(1, port, ""),
                    ContainsSubstring("port " + port) && ContainsSubstring("execution.mpi.ports"));
  CHECK_THROWS_WITH(listen_to_others(1, port + "-" + port, ""), ContainsSubstring("in use"));
  // One of many ports above it is free.
  const int last = std::min(65535, first.card.port + 200);
  const std::string range = fmt::format("{}-{}", first.card.port, last);
  if (last > first.card.port) {
    const Listener second = listen_to_others(1, range, "");
    CHECK(second.card.port > first.card.port);
    CHECK(second.card.port <= last);
  }
}

TEST_CASE("a range of ports that is none, and an unknown interface, are errors") {
  for (const char* ports : {"x", "0", "70000", "5-", "-5", "9-8", "1-2-3", "80 "}) {
    INFO(ports);
    CHECK_THROWS_AS(listen_to_others(0, ports, ""), UsageError);
  }
  CHECK_THROWS_WITH(listen_to_others(0, "", "no-such-0"), ContainsSubstring("'no-such-0'") &&
                                                              ContainsSubstring("it has: ") &&
                                                              ContainsSubstring("lo"));
  const Listener local = listen_to_others(0, "", "lo");
  CHECK(std::count(local.card.addresses.begin(), local.card.addresses.end(), "127.0.0.1") == 1);
}

TEST_CASE("a card survives its text, and what is none is refused") {
  const Card first = card(4, "node \"7\"", 20000, {"10.0.0.1", "fd00::1"});
  const Card again = parse_card(first.text());
  CHECK(again.place.name() == first.place.name());
  CHECK(again.port == 20000);
  CHECK(again.addresses == first.addresses);
  CHECK_THROWS_AS(parse_card("hello"), Error);
  CHECK_THROWS_AS(parse_card("{\"rank\": 1}"), Error);
}
