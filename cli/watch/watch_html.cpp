#include "cli/watch/watch_html.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "engine/base/error.hpp"
#include "reports/html.hpp"
#include "reports/html/page_script.hpp"

namespace acid {
namespace {

constexpr const char* kAddress = "127.0.0.1";
// A version is asked for again soon; a new page is worth waiting for.
constexpr double kVersionPatienceSeconds = 1, kPagePatienceSeconds = 120;

constexpr const char* kSecondsOfStaticPage = "10";
constexpr const char* kHtml = "text/html; charset=utf-8";
enum Status : int {
  kOk = 200,
  kSeeOther = 303,
  kForbidden = 403,
  kNotFound = 404,
  kMethodNotAllowed = 405,
  kUnavailable = 503,
};

constexpr const char* kNoEntry =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<title>acid watch</title>\n</head>\n<body>\n<h1>Not for this browser</h1>\n"
    "<p>The address that acid watch prints works once: the first browser that opens it sees the "
    "page until acid watch ends. Use that browser, or end acid watch with ^C and start it again "
    "for a new address. The runs go on meanwhile.</p>\n</body>\n</html>\n";

// When another site led to this address, a redirection still counts as a request of that site, and
// a browser sends no cookie with it. A page that then loads the report by itself is not such a
// request.
constexpr const char* kGoOn =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n<title>acid watch</title>\n</head>\n"
    "<body>\n<p><a href=\"/\">To the page</a></p>\n</body>\n</html>\n";

void set_policy(HttpResponse& response, const std::string& policy) {
  response.headers.emplace_back("Content-Security-Policy", policy + "; frame-ancestors 'none'");
}

HttpResponse answer(Status status, std::string text,
                    const char* type = "text/plain; charset=utf-8") {
  HttpResponse response{status, {}, type, std::make_shared<const std::string>(std::move(text))};
  set_policy(response, "default-src 'none'");
  return response;
}

HttpResponse answer(const std::shared_ptr<const PageEdition>& edition) {
  HttpResponse response{kOk, {}, kHtml, {edition, &edition->page}};
  set_policy(response, content_security_policy(true));
  // A page with a script asks for newer versions itself.
  if (page_script().script.empty()) response.headers.emplace_back("Refresh", kSecondsOfStaticPage);
  return response;
}

}  // namespace

PageServer::PageServer(std::string store_folder, std::vector<std::string> run_ids, int port)
    : store_folder_(std::move(store_folder)),
      run_ids_(std::move(run_ids)),
      port_(server_.bind(kAddress, port)) {
  if (port_ == 0)
    throw UsageError(fmt::format(
        "cannot listen on port {} of {}: {}; choose another one with --port, or leave it out for "
        "any that is free",
        port, kAddress, std::strerror(errno)));
  access_.emplace(port_);
}

PageServer::~PageServer() {
  if (page_) page_->stop();  // before the server waits for requests
}

std::string PageServer::address() const {
  return fmt::format("http://{}:{}/?token={}", kAddress, port_, access_->token());
}

bool PageServer::asked_within(double seconds) const {
  return page_ && page_->seconds_unasked() < seconds;
}

void PageServer::start() {
  page_.emplace(store_folder_, run_ids_);
  server_.start([this](const HttpRequest& request) { return handle(request); });
}

HttpResponse PageServer::handle(const HttpRequest& request) {
  HttpResponse response = choose(request);
  for (const auto& [name, value] : {std::pair{"X-Content-Type-Options", "nosniff"},
                                    {"Cache-Control", "no-store"},
                                    {"Referrer-Policy", "no-referrer"},
                                    {"Cross-Origin-Resource-Policy", "same-origin"}})
    response.headers.emplace_back(name, value);
  return response;
}

HttpResponse PageServer::choose(const HttpRequest& request) {
  if (request.header_count("host") != 1 || !access_->is_our_host(request.header("host")))
    return answer(kForbidden, "acid watch answers to its own address only\n");
  if (request.method != "GET") {
    HttpResponse response = answer(kMethodNotAllowed, "acid watch answers to GET only\n");
    response.headers.emplace_back("Allow", "GET");
    return response;
  }
  const std::string& path = request.path;
  if (path == "/" && request.has_parameter("token")) return let_in(request);
  if (!access_->admits(request.header("cookie"))) return answer(kForbidden, kNoEntry, kHtml);
  if (path == "/" || path == "/version") return show(path == "/");
  return answer(kNotFound, "acid watch has one page, /\n");
}

HttpResponse PageServer::let_in(const HttpRequest& request) {
  // A browser that has the cookie may open the address again: it leads to the page.
  const bool known = access_->admits(request.header("cookie"));
  if (!known && !access_->redeem(request.parameter("token")))
    return answer(kForbidden, kNoEntry, kHtml);
  const std::string site = request.header("sec-fetch-site");
  const bool led_here = site == "cross-site" || site == "same-site";
  HttpResponse response = led_here ? answer(kOk, kGoOn, kHtml) : answer(kSeeOther, "");
  if (!led_here) response.headers.emplace_back("Location", "/");
  if (!known) response.headers.emplace_back("Set-Cookie", access_->cookie());
  return response;
}

HttpResponse PageServer::show(bool whole) {
  const auto edition = page_->newest(whole ? kPagePatienceSeconds : kVersionPatienceSeconds);
  if (edition == nullptr || edition->version.empty()) {
    HttpResponse response = answer(
        kUnavailable, edition == nullptr ? "the page is being made\n" : edition->problem + "\n");
    response.headers.emplace_back("Retry-After", "2");
    return response;
  }
  return whole ? answer(edition) : answer(kOk, edition->version);
}

}  // namespace acid
