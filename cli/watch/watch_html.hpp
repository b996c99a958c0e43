#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/http/http_server.hpp"
#include "cli/watch/watch_html_access.hpp"
#include "cli/watch/watch_html_page.hpp"

namespace acid {

/// Shows the report page of some runs to one browser on this machine while they go on. Listens on
/// 127.0.0.1 alone; PageAccess decides who sees the page. Answers `GET /` with the page and `GET
/// /version` with its version, and nothing else. Use from one thread; requests run on threads of
/// their own.
class PageServer {
 public:
  /// `port` 0: any free port. Connections are accepted from here on, but wait for start(). Throws
  /// UsageError when the port cannot be had.
  PageServer(std::string store_folder, std::vector<std::string> run_ids, int port);
  /// Ends the server. Waits for a page that is being made.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /// The address with the token: the browser that opens it first is the only one that sees the
  /// page.
  std::string address() const;
  /// Begins to answer. The answering threads block the signals that the caller blocks now.
  void start();
  /// Whether a page in a browser has asked within this time.
  bool asked_within(double seconds) const;

 private:
  HttpResponse handle(const HttpRequest& request);
  HttpResponse choose(const HttpRequest& request);
  HttpResponse let_in(const HttpRequest& request);
  HttpResponse show(bool whole);

  const std::string store_folder_;
  const std::vector<std::string> run_ids_;
  std::optional<LivePage> page_;  // set by start()
  std::optional<PageAccess> access_;
  HttpServer server_;  // its threads use the others
  const int port_;
};

}  // namespace acid
