#pragma once

#include <memory>
#include <string>
#include <vector>

namespace acid {

/// Shows the report page of some runs to one browser on this machine while they go on. Listens on
/// 127.0.0.1 alone; PageAccess decides who sees the page. Answers `GET /` with the page and `GET
/// /version` with its version, and nothing else. Use from one thread; requests run on threads of
/// their own.
class PageServer {
 public:
  /// `port` 0: any free port. Connections are accepted from here on, but wait for start(). Throws
  /// UsageError when the port cannot be had.
  PageServer(const std::string& store_folder, const std::vector<std::string>& run_ids, int port);
  /// Ends the server. Waits for a page that is being made.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const;
  /// The address with the token: the browser that opens it first is the only one that sees the
  /// page.
  std::string address() const;
  /// Begins to answer. The answering threads block the signals that the caller blocks now.
  void start();
  /// Whether a page in a browser has asked within this time.
  bool asked_within(double seconds) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid
