// `acid watch --html`: who may see the page, what is sent with it, that it follows the runs, and
// how it ends. The browser is a plain HTTP client here.
#include <arpa/inet.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "engine/base/clock.hpp"
#include "engine/base/descriptor.hpp"
#include "tests/cli/going_run.hpp"

using acid::RunState;
using acid::test::comes_true;
using acid::test::Going;
using acid::test::Running;
using acid::test::StoredRun;

namespace {

constexpr double kPatienceSeconds = 60;  // for a machine that is busy with other work

std::string between(const std::string& text, const std::string& before, const std::string& after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string::npos) return {};
  const std::size_t from = begin + before.size();
  return text.substr(from, text.find(after, from) - from);
}

/// The headers that a browser sends after this answer.
httplib::Headers cookie_of(const httplib::Response& answer) {
  const std::string cookie = answer.get_header_value("Set-Cookie");
  return {{"Cookie", cookie.substr(0, cookie.find(';'))}};
}

/// `acid watch --html` that runs in a folder until it is asked to end.
class Served {
 public:
  explicit Served(const acid::test::Folder& folder, std::vector<std::string> more = {},
                  const std::vector<std::string>& environment = {})
      : watching_(folder, arguments(std::move(more)), environment) {
    REQUIRE(comes_true([&] { return watching_.out().find('\n') != std::string::npos; }));
    const std::string out = watching_.out();
    port = std::stoi(between(out, "http://127.0.0.1:", "/?token="));
    token = between(out, "/?token=", "\n");
    REQUIRE(token.size() == 32);
  }
  ~Served() {
    if (ended_) return;
    kill(watching_.pid(), SIGKILL);
    watching_.wait();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  httplib::Response request(const std::string& method, const std::string& path,
                            httplib::Headers headers = {}) const {
    httplib::Client client("127.0.0.1", port);
    client.set_read_timeout(static_cast<time_t>(kPatienceSeconds));
    httplib::Request request;
    request.method = method;
    request.path = path;
    request.headers = std::move(headers);
    const auto result = client.send(request);
    INFO(method << " " << path << ": " << to_string(result.error()));
    REQUIRE(result);
    return result.value();
  }
  httplib::Response get(const std::string& path, httplib::Headers headers = {}) const {
    return request("GET", path, std::move(headers));
  }
  /// The headers that a browser sends after it has opened the address.
  httplib::Headers entered() const { return cookie_of(get("/?token=" + token)); }
  bool looks_around() const { return acid::test::looks_around(watching_.pid()); }
  acid::test::Result ended_by(int signal) {
    kill(watching_.pid(), signal);
    return ended();
  }
  acid::test::Result ended() {
    ended_ = true;
    return watching_.wait();
  }

  int port = 0;
  std::string token;

 private:
  static std::vector<std::string> arguments(std::vector<std::string> more) {
    more.insert(more.begin(), {"watch", "--html"});
    return more;
  }
  Running watching_;
  bool ended_ = false;
};

// A client that never ends its request.
acid::Descriptor begin_a_request(int port) {
  acid::Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(socket.get(), reinterpret_cast<sockaddr*>(&place), sizeof place) == 0);
  REQUIRE(::send(socket.get(), "GET", 3, MSG_NOSIGNAL) == 3);
  return socket;
}

// The version that the server gives: equal if the pages are equal.
std::string version_of(const httplib::Response& page) {
  return acid::sha256_hex(page.body).substr(0, 32);
}

// Lets the last run of `acid watch --html --wait` end while a page asks for its version, and
// returns how many answers the page got to requests after that.
int looks_after_the_end() {
  Going bench;
  Served served(bench, {"--wait"});
  const httplib::Headers entered = served.entered();
  CHECK(served.get("/", entered).status == 200);
  std::atomic<bool> finished = false, over = false;
  std::atomic<int> learned = 0;
  std::thread page([&] {
    while (!over) {
      const bool after_the_end = finished;
      httplib::Client client("127.0.0.1", served.port);
      const auto version = client.Get("/version", entered);
      if (after_the_end && version && version->status == 200) ++learned;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  bench.end(RunState::finished);
  finished = true;
  const auto result = served.ended();
  over = true;
  page.join();
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring("finished"));
  CHECK_THAT(result.err, !ContainsSubstring("watching ended"));
  return learned;
}

}  // namespace

TEST_CASE("the address that watch --html prints lets one browser in, which then has a cookie") {
  const Going bench;
  const Served served(bench);
  CHECK(served.get("/").status == 403);
  CHECK(served.get("/version").status == 403);
  CHECK(served.get("/?token=").status == 403);
  CHECK(served.get("/?token=" + std::string(32, '0')).status == 403);
  CHECK(served.get("/version?token=" + served.token).status == 403);
  CHECK(served.request("HEAD", "/?token=" + served.token).status == 405);

  const auto entry = served.get("/?token=" + served.token);
  CHECK(entry.status == 303);
  CHECK(entry.get_header_value("Location") == "/");
  const std::string cookie = entry.get_header_value("Set-Cookie");
  for (const char* part : {"; Path=/", "; HttpOnly", "; SameSite=Strict"})
    CHECK_THAT(cookie, ContainsSubstring(part));
  CHECK_THAT(cookie, !ContainsSubstring(served.token));

  const auto again = served.get("/?token=" + served.token);
  CHECK(again.status == 403);
  CHECK_THAT(again.body, ContainsSubstring("works once") && ContainsSubstring("start it again"));
  CHECK(again.get_header_value("Set-Cookie").empty());

  const std::string pair = cookie.substr(0, cookie.find(';'));
  const auto page = served.get("/", {{"Cookie", "other=1; " + pair}});
  CHECK(page.status == 200);
  CHECK_THAT(page.body, ContainsSubstring("<!DOCTYPE html>") && ContainsSubstring(bench.id));
  CHECK(served.get("/?token=" + served.token, {{"Cookie", pair}}).status == 303);
  CHECK(served.get("/", {{"Cookie", pair + "0"}}).status == 403);
  CHECK(served.get("/", {{"Cookie", "acid-watch=" + between(pair, "=", ";")}}).status == 403);
}

TEST_CASE("watch --html answers to its own address, to GET, with its policy, and is kept nowhere") {
  const Going bench;
  const Served served(bench);
  // A browser that another site leads to the address gets a page of ours that goes on.
  const auto entry = served.get("/?token=" + served.token, {{"Sec-Fetch-Site", "cross-site"}});
  CHECK(entry.status == 200);
  CHECK_THAT(entry.body, ContainsSubstring("http-equiv=\"refresh\" content=\"0; url=/\""));
  const httplib::Headers entered = cookie_of(entry);
  const auto as = [&](const std::string& host) {
    httplib::Headers headers = entered;
    headers.emplace("Host", host);
    return served.get("/version", headers).status;
  };
  const std::string port = ":" + std::to_string(served.port);
  CHECK(as("127.0.0.1" + port) == 200);
  CHECK(as("localhost" + port) == 200);
  for (const std::string& host :
       {"evil.example" + port, std::string("127.0.0.1"),
        "127.0.0.1:" + std::to_string(served.port - 1), "127.0.0.1" + port + ".evil.example"})
    CHECK(as(host) == 403);
  CHECK(served.get("/../etc/passwd", entered).status == 404);
  CHECK(served.get("/store.db", entered).status == 404);
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"})
    CHECK(served.request(method, "/", entered).status == 405);

  const auto page = served.get("/", entered), no_entry = served.get("/");
  const std::string policy =
      between(page.body, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
  CHECK_THAT(policy,
             ContainsSubstring("default-src 'none'") && ContainsSubstring("connect-src 'self'"));
  CHECK(page.get_header_value_count("Content-Security-Policy") == 1);
  CHECK(page.get_header_value("Content-Security-Policy") == policy + "; frame-ancestors 'none'");
  CHECK_THAT(page.body, ContainsSubstring("id=\"live-status\""));
  CHECK_THAT(no_entry.get_header_value("Content-Security-Policy"),
             ContainsSubstring("default-src 'none'"));
  for (const auto& each : {page, no_entry})
    for (const auto& [header, value] : {std::pair{"X-Content-Type-Options", "nosniff"},
                                        {"Cache-Control", "no-store"},
                                        {"Referrer-Policy", "no-referrer"},
                                        {"Content-Type", "text/html; charset=utf-8"}})
      CHECK(each.get_header_value(header) == value);
}

TEST_CASE(
    "the version is the page's own, for all who ask, and changes when a run advances and ends") {
  Going bench;
  const Served served(bench);
  const httplib::Headers entered = served.entered();
  const auto version = [&] { return served.get("/version", entered).body; };
  const auto page = [&] { return served.get("/", entered); };
  const std::string first = version();
  CHECK(first.size() == 32);
  CHECK(version_of(page()) == first);
  CHECK(version() == first);
  const std::string expected = page().body;  // of many requests at once, too
  std::vector<std::string> pages(16), versions(16);
  std::vector<std::thread> browsers;
  for (std::size_t k = 0; k < pages.size(); ++k)
    browsers.emplace_back([&, k] {
      httplib::Client client("127.0.0.1", served.port);
      client.set_read_timeout(static_cast<time_t>(kPatienceSeconds));
      if (const auto got = client.Get("/", entered)) pages[k] = got->body;
      if (const auto got = client.Get("/version", entered)) versions[k] = got->body;
    });
  for (std::thread& browser : browsers) browser.join();
  CHECK(pages == std::vector<std::string>(16, expected));
  CHECK(versions == std::vector<std::string>(16, first));

  bench.measure(500, 0.1);
  REQUIRE(comes_true([&] { return version() != first; }));
  const std::string second = version();
  CHECK(version_of(page()) == second);
  bench.end(RunState::finished);
  REQUIRE(comes_true([&] { return version() != second; }));
  CHECK_THAT(page().body, ContainsSubstring("All runs have ended"));
}

TEST_CASE("watch --html goes on after the last run, until a signal ends it, and nothing else") {
  Going bench;
  for (const int signal : {SIGINT, SIGTERM}) {
    Served served(bench);
    const httplib::Headers entered = served.entered();
    CHECK(served.get("/", entered).status == 200);
    if (signal == SIGTERM) {
      bench.end(RunState::finished);
      CHECK(comes_true([&] {
        const std::string page = served.get("/", entered).body;
        return page.find("All runs have ended") != std::string::npos;
      }));
      CHECK(served.looks_around());
      CHECK(served.get("/").status == 403);
    }
    const auto result = served.ended_by(signal);
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(result.out ==
          "http://127.0.0.1:" + std::to_string(served.port) + "/?token=" + served.token + "\n");
    CHECK_THAT(result.err, ContainsSubstring("watching ended; the runs go on"));
  }
  CHECK_THAT(bench.call({"list"}).out, ContainsSubstring("finished"));
}

TEST_CASE("^C ends watch --html while strangers hold connections open") {
  const Going bench;
  Served served(bench);
  CHECK(served.get("/").status == 403);  // so it answers already
  std::vector<acid::Descriptor> strangers;
  for (int k = 0; k < 20; ++k) strangers.push_back(begin_a_request(served.port));
  const acid::SteadyClock clock;
  const double begun = clock.seconds();
  CHECK(served.get("/").status == 403);
  CHECK(served.ended_by(SIGINT).code == 0);
  CHECK(clock.seconds() - begun < 5);
}

TEST_CASE("watch --html --wait ends with the last run, after the page had time to learn of it") {
  // The page has some seconds; if the machine gives it no core for so long, the test tries again.
  int learned = 0;
  for (int tries = 0; tries < 5 && learned == 0; ++tries) learned = looks_after_the_end();
  CHECK(learned > 0);
}

TEST_CASE("watch --html says which port is taken, and refuses what it cannot serve") {
  const Going bench;
  const Served served(bench);
  const std::string port = std::to_string(served.port);
  check_refused(bench.call({"watch", "--html", "--port", port}), {"port " + port, "--port"});
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--port", port},
                                                {"--html", "--port", "70000"},
                                                {"--html", "--once"},
                                                {"--html", "--json"},
                                                {"--html", "no-such-run"}}) {
    std::vector<std::string> arguments{"watch"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    check_refused(bench.call(arguments), {});
  }
}

TEST_CASE(
    "watch --html shows the page of runs that have not begun, and says where there are none") {
  const StoredRun bench;
  const Served served(bench);
  CHECK_THAT(served.get("/", served.entered()).body, ContainsSubstring(bench.id));

  const acid::test::Folder empty;
  check_refused(empty.call({"watch", "--html"}), {"acid run"}, 3);
  const acid::Store store(empty.path("acid-store"), acid::Store::Access::write);
  check_refused(empty.call({"watch", "--html"}), {});
}

TEST_CASE("watch --html --open gives the browser a file that only this user can read") {
  const Going bench;
  bench.write_program("xdg-open",
                      "#!/bin/sh\ncp -p \"$1\" copy; echo \"$1\" > opened.new\n"
                      "mv opened.new opened\n");
  std::string file;
  {
    Served served(bench, {"--open"},
                  {"PATH=" + bench.path() + ":/usr/bin:/bin", "XDG_RUNTIME_DIR=" + bench.path()});
    acid::test::wait_for(bench, "opened");
    file = between(bench.read("opened"), "", "\n");
    CHECK_THAT(file, !ContainsSubstring(served.token));
    CHECK_THAT(bench.read("copy"),
               ContainsSubstring("url=http://127.0.0.1") && ContainsSubstring(served.token));
    CHECK((std::filesystem::status(file).permissions() & std::filesystem::perms::all) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    CHECK(served.get("/").status == 403);  // so it waits for signals already
    CHECK(served.ended_by(SIGINT).code == 0);
  }
  CHECK_FALSE(std::filesystem::exists(file));

  Served served(bench, {"--open"}, {"PATH=" + bench.path("nowhere")});
  CHECK(served.get("/", served.entered()).status == 200);
  CHECK_THAT(served.ended_by(SIGINT).err, ContainsSubstring("xdg-open is not installed"));
}
