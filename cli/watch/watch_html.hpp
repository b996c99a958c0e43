#pragma once

#include <memory>
#include <string>
#include <vector>

namespace acid {

/// Shows the report page of some runs to one browser on this machine while they go on. Listens on
/// 127.0.0.1 alone; who sees the page is decided by PageAccess. Answers `GET /` with the page and
/// `GET /version` with its version, and nothing else. Use from one thread; the requests have their
/// own.
class PageServer {
 public:
  /// `port` 0: any that is free. Connections are accepted from here on, but wait for start().
  /// Throws UsageError when the port cannot be had.
  PageServer(const std::string& store_folder, const std::vector<std::string>& run_ids, int port);
  /// Ends it. Waits for a page that is just being made.
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const;
  /// With the token: whoever opens it first is the one who sees the page.
  std::string address() const;
  /// Begins to answer. The threads that do so block the signals which the caller blocks now.
  void start();
  /// Whether a page in a browser has asked within this time.
  bool asked_within(double seconds) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid
