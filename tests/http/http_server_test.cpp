// The web server of `acid watch --html` with unwanted clients.
#include "cli/http/http_server.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include "engine/base/clock.hpp"
#include "engine/base/descriptor.hpp"
#include "tests/catch.hpp"

using acid::Descriptor;
using acid::HttpLimits;
using acid::HttpRequest;
using acid::HttpResponse;
using acid::HttpServer;

namespace {

constexpr double kPatienceOfGuest = 20;  // seconds; for what takes milliseconds on a quiet machine

class Guest {
 public:
  explicit Guest(int port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<std::uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
  }
  /// False when the other side has stopped listening.
  bool say(std::string_view text) {
    return ::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  /// The bytes until the other side ends, or, with `ended` false, until it is silent for too long.
  std::string hear() {
    std::string all;
    char piece[4096];
    pollfd ready{socket_.get(), POLLIN, 0};
    while (::poll(&ready, 1, static_cast<int>(kPatienceOfGuest * 1000)) > 0) {
      const ssize_t got = ::recv(socket_.get(), piece, sizeof piece, 0);
      if (got <= 0) {
        ended = true;
        break;
      }
      all.append(piece, static_cast<std::size_t>(got));
    }
    return all;
  }
  bool ended = false;

 private:
  Descriptor socket_;
};

struct Serving {
  explicit Serving(const HttpLimits& limits = {}, HttpServer::Handler handler = say_path)
      : server(std::make_unique<HttpServer>(limits)), port(server->bind("127.0.0.1", 0)) {
    REQUIRE(port != 0);
    server->start(std::move(handler));
  }
  static HttpResponse say_path(const HttpRequest& request) {
    return {200, {}, "text/plain", std::make_shared<const std::string>("at " + request.path)};
  }
  std::string answer_to(const std::string& words) const {
    Guest guest(port);
    guest.say(words);
    return guest.hear();
  }
  std::unique_ptr<HttpServer> server;
  int port;
};

}  // namespace

TEST_CASE("a request is taken apart, and anything else is refused") {
  const auto request = acid::parse_http_head(
      "GET /a?token=12&b HTTP/1.1\r\nHost: here\r\nX-Two: 1\r\nx-two:\t2 \r\nEmpty:");
  REQUIRE(request);
  CHECK(request->method == "GET");
  CHECK(request->path == "/a");
  CHECK(request->parameter("token") == "12");
  CHECK(request->has_parameter("b"));
  CHECK_FALSE(request->has_parameter("c"));
  CHECK(request->header("host") == "here");
  CHECK(request->header_count("x-two") == 2);
  CHECK(request->header("x-two") == "1");
  CHECK(request->header_count("empty") == 1);
  CHECK(request->header("none").empty());
  for (const std::string head :
       {"", "GET", "GET /", "GET / HTTP/2", "GET  / HTTP/1.1", "GET http://x/ HTTP/1.1",
        "GET / HTTP/1.1\r\nHost", "GET / HTTP/1.1\r\nHost : x", "GET / HTTP/1.1\r\nA: 1\r\n b",
        "GET / HTTP/1.1\r\n: x", "GET / HTTP/1.1\r\nA: 1\nB: 2", "G\tT / HTTP/1.1"}) {
    INFO(head);
    CHECK_FALSE(acid::parse_http_head(head));
  }
  CHECK_FALSE(acid::parse_http_head(std::string("GET /\0 HTTP/1.1", 15)));
}

TEST_CASE("a silent client, or a request without an end, keeps no other waiting") {
  const Serving serving;
  std::vector<std::unique_ptr<Guest>> idle;
  for (int k = 0; k < 100; ++k) {
    idle.push_back(std::make_unique<Guest>(serving.port));
    idle.back()->say(k % 2 == 0 ? "" : "GET / HTTP/1.1\r\nX: ");
  }
  const acid::SteadyClock clock;
  const double begun = clock.seconds();
  for (int k = 0; k < 20; ++k)
    CHECK_THAT(serving.answer_to("GET /x HTTP/1.1\r\n\r\n"),
               ContainsSubstring("200 OK") && ContainsSubstring("at /x"));
  CHECK(clock.seconds() - begun < HttpLimits{}.head_seconds);
}

TEST_CASE("a request that goes on and on is refused before it has cost anything") {
  const Serving serving;
  for (const std::string& piece : {std::string(1024, 'x'), std::string("Some: header\r\n")}) {
    Guest guest(serving.port);
    std::size_t sent = 0;
    for (guest.say("GET / HTTP/1.1\r\n"); sent < 100'000'000 && guest.say(piece);)
      sent += piece.size();
    CHECK(sent < 50'000'000);  // the system's buffer for a connection
  }
  CHECK_THAT(serving.answer_to("GET / HTTP/1.1\r\nA: " + std::string(17'000, 'x') + "\r\n\r\n"),
             !ContainsSubstring("200 OK"));
  CHECK_THAT(serving.answer_to("GET / HTTP/1.1\r\nA: " + std::string(9'000, 'x') + "\r\n\r\n"),
             ContainsSubstring("200 OK"));
}

TEST_CASE("a request has a deadline, however diligently its bytes come") {
  HttpLimits limits;
  limits.head_seconds = 0.2;
  const Serving serving(limits);
  const acid::SteadyClock clock;
  const double begun = clock.seconds();
  Guest guest(serving.port);
  pollfd none{-1, 0, 0};
  for (bool heard = guest.say("GET / HTTP/1.1\r\nX: ");
       heard && clock.seconds() - begun < kPatienceOfGuest; heard = guest.say("x"))
    ::poll(&none, 1, 20);
  CHECK(clock.seconds() - begun < kPatienceOfGuest);
}

TEST_CASE("the server ends at once, also with clients that are silent or slow") {
  const auto large = std::make_shared<const std::string>(100'000'000, 'x');
  auto serving = std::make_unique<Serving>(HttpLimits{}, [&](const HttpRequest&) {
    return HttpResponse{200, {}, "text/plain", large};
  });
  std::vector<std::unique_ptr<Guest>> guests;
  for (const char* words : {"", "GET", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"}) {
    guests.push_back(std::make_unique<Guest>(serving->port));
    guests.back()->say(words);
  }
  const acid::SteadyClock clock;
  const double begun = clock.seconds();
  serving.reset();
  CHECK(clock.seconds() - begun < HttpLimits{}.head_seconds);
}
