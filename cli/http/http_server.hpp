#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/http/http_request.hpp"

namespace acid {

struct HttpResponse {
  int status = 200;
  HttpRequest::Pairs headers;
  std::string type;                         // of the body: "text/plain; charset=utf-8"
  std::shared_ptr<const std::string> body;  // never copied or compressed; null: empty
};

/// Limits on what a client can cost that may not even have the right to see the page.
struct HttpLimits {
  std::size_t head_bytes = 16384;    // of a request, which has no body
  double head_seconds = 5;           // from the connection to the end of the head
  double answer_seconds = 20;        // to take the answer
  std::size_t connections = 64;      // without a whole head; one more closes the oldest
  std::size_t waiting_answers = 64;  // one more is turned away
};

/// A web server for one machine: one request per connection, no body in requests. One thread reads
/// the heads of all connections, so that no connection delays another; eight threads answer. Use
/// from one thread.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  explicit HttpServer(const HttpLimits& limits = {});
  /// Waits for the handler's current calls; answers that are being sent have a second left.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// Accepts connections from here on, which wait for start(). Returns the port, or 0 when the port
  /// cannot be had, with the reason in errno. `address`: IPv4; `port` 0: any free port. Call it
  /// once.
  int bind(const std::string& address, int port);
  /// Begins to answer; eight threads call `handler`. They block the signals that the caller blocks
  /// now. Call it once, after bind().
  void start(Handler handler);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid
