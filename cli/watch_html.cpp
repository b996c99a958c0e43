#include "cli/watch_html.hpp"

#include <fmt/format.h>
#include <httplib.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include "cli/watch_html_access.hpp"
#include "cli/watch_html_page.hpp"
#include "engine/base/error.hpp"
#include "reports/html.hpp"
#include "reports/html/page_script.hpp"

namespace acid {
namespace {

constexpr const char* kAddress = "127.0.0.1";
constexpr std::size_t kThreads = 8;
// A version is asked for again soon; a page that has to be made is worth waiting for.
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

// Where another site led here, a redirection still counts as its request, and a browser sends no
// cookie with it. A page of our own that goes on by itself is not its request any more.
constexpr const char* kGoOn =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n<title>acid watch</title>\n</head>\n"
    "<body>\n<p><a href=\"/\">To the page</a></p>\n</body>\n</html>\n";

void set_policy(httplib::Response& response, const std::string& policy) {
  response.set_header("Content-Security-Policy", policy + "; frame-ancestors 'none'");
}

void answer(httplib::Response& response, Status status, const std::string& text,
            const char* type = "text/plain; charset=utf-8") {
  response.status = status;
  set_policy(response, "default-src 'none'");
  response.set_content(text, type);
}

// Not copied for each request, and never compressed: it stays on this machine.
void send(std::shared_ptr<const PageEdition> edition, httplib::Response& response) {
  response.status = kOk;
  set_policy(response, content_security_policy(true));
  // A page with a script asks for newer ones itself.
  if (page_script().script.empty()) response.set_header("Refresh", kSecondsOfStaticPage);
  const std::size_t bytes = edition->page.size();
  response.set_content_provider(
      bytes, kHtml,
      [kept = std::move(edition)](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        return sink.write(kept->page.data() + offset, length);
      });
}

}  // namespace

struct PageServer::Impl {
  Impl(std::string folder, std::vector<std::string> ids)
      : store_folder(std::move(folder)), run_ids(std::move(ids)) {}

  void bind(int wanted);
  void handle(const httplib::Request& request, httplib::Response& response);
  void let_in(const httplib::Request& request, httplib::Response& response);
  void show(const httplib::Request& request, httplib::Response& response);

  const std::string store_folder;
  const std::vector<std::string> run_ids;
  int port = 0;
  httplib::Server server;
  std::optional<PageAccess> access;  // from bind() on
  std::optional<LivePage> page;      // from start() on
  std::thread listening;
  Mutex mutex;
  Condition ready;
  bool running GUARDED_BY(mutex) = false;
};

void PageServer::Impl::bind(int wanted) {
  // Not httplib's own choice, by which a second server could share the port of the first.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  errno = 0;
  port = wanted == 0 ? server.bind_to_any_port(kAddress)
                     : (server.bind_to_port(kAddress, wanted) ? wanted : -1);
  if (port <= 0)
    throw UsageError(fmt::format(
        "cannot listen on port {} of {}: {}; choose another one with --port, or leave it out for "
        "any that is free",
        wanted, kAddress, errno != 0 ? std::strerror(errno) : "it is taken"));
  access.emplace(port);
}

void PageServer::Impl::handle(const httplib::Request& request, httplib::Response& response) {
  response.set_header("X-Content-Type-Options", "nosniff");
  response.set_header("Cache-Control", "no-store");
  response.set_header("Referrer-Policy", "no-referrer");
  response.set_header("Cross-Origin-Resource-Policy", "same-origin");
  const bool one_host = request.get_header_value_count("Host") == 1;
  if (!one_host || !access->is_our_host(request.get_header_value("Host")))
    return answer(response, kForbidden, "acid watch answers to its own address only\n");
  if (request.method != "GET") {
    response.set_header("Allow", "GET");
    return answer(response, kMethodNotAllowed, "acid watch answers to GET only\n");
  }
  if (request.path == "/" && request.has_param("token")) return let_in(request, response);
  if (!access->admits(request.get_header_value("Cookie")))
    return answer(response, kForbidden, kNoEntry, kHtml);
  if (request.path == "/" || request.path == "/version") return show(request, response);
  answer(response, kNotFound, "acid watch has one page, /\n");
}

void PageServer::Impl::let_in(const httplib::Request& request, httplib::Response& response) {
  // Who has the cookie may open the address again: it leads to the page.
  if (!access->admits(request.get_header_value("Cookie"))) {
    if (!access->redeem(request.get_param_value("token")))
      return answer(response, kForbidden, kNoEntry, kHtml);
    response.set_header("Set-Cookie", access->cookie());
  }
  const std::string site = request.get_header_value("Sec-Fetch-Site");
  if (site == "cross-site" || site == "same-site") return answer(response, kOk, kGoOn, kHtml);
  answer(response, kSeeOther, "");
  response.set_header("Location", "/");
}

void PageServer::Impl::show(const httplib::Request& request, httplib::Response& response) {
  const bool whole = request.path == "/";
  auto edition = page->newest(whole ? kPagePatienceSeconds : kVersionPatienceSeconds);
  if (edition == nullptr || edition->version.empty()) {
    response.set_header("Retry-After", "2");
    return answer(response, kUnavailable,
                  edition == nullptr ? "the page is being made\n" : edition->problem + "\n");
  }
  if (!whole) return answer(response, kOk, edition->version);
  send(std::move(edition), response);
}

PageServer::PageServer(const std::string& store_folder, const std::vector<std::string>& run_ids,
                       int port)
    : impl_(std::make_unique<Impl>(store_folder, run_ids)) {
  impl_->bind(port);
}

PageServer::~PageServer() {
  if (!impl_->listening.joinable()) return;
  impl_->page->stop();
  {
    // A server that does not run yet could not be stopped.
    const MutexLock lock(impl_->mutex);
    while (!impl_->running) impl_->ready.wait(impl_->mutex);
  }
  impl_->server.stop();
  impl_->listening.join();
}

int PageServer::port() const { return impl_->port; }

std::string PageServer::address() const {
  return fmt::format("http://{}:{}/?token={}", kAddress, impl_->port, impl_->access->token());
}

bool PageServer::asked_within(double seconds) const {
  return impl_->page && impl_->page->seconds_unasked() < seconds;
}

void PageServer::start() {
  Impl& impl = *impl_;
  impl.page.emplace(impl.store_folder, impl.run_ids);
  // One request per connection: while a connection is kept, its thread asks for more again and
  // again.
  impl.server.set_keep_alive_max_count(1).set_keep_alive_timeout(1);
  impl.server.set_read_timeout(5).set_write_timeout(20).set_payload_max_length(0);
  impl.server.set_pre_routing_handler(
      [&impl](const httplib::Request& request, httplib::Response& response) {
        impl.handle(request, response);
        return httplib::Server::HandlerResponse::Handled;
      });
  impl.server.new_task_queue = [&impl] {  // called once it runs
    const MutexLock lock(impl.mutex);
    impl.running = true;
    impl.ready.notify_all();
    return new httplib::ThreadPool(kThreads);
  };
  impl.listening = std::thread([&impl] { impl.server.listen_after_bind(); });
}

}  // namespace acid
