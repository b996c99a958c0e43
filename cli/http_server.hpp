#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace acid {

/// What a browser asks. Valid during the call that it is handed to.
class HttpRequest {
 public:
  virtual ~HttpRequest() = default;
  virtual std::string method() const = 0;
  virtual std::string path() const = 0;
  /// How often a header is there, and its first value, or nothing.
  virtual std::size_t header_count(const std::string& name) const = 0;
  virtual std::string header(const std::string& name) const = 0;
  /// Whether the address has this parameter after its question mark, and the value.
  virtual bool has_parameter(const std::string& name) const = 0;
  virtual std::string parameter(const std::string& name) const = 0;
};

struct HttpResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string type;                         // of the body: "text/plain; charset=utf-8"
  std::shared_ptr<const std::string> body;  // never copied or compressed; null: empty
};

/// A web server for one machine: one request per connection, no body in requests. Use from one
/// thread; requests are answered on threads of its own.
class HttpServer {
 public:
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  /// Waits for the requests in hand.
  virtual ~HttpServer() = default;
  /// Accepts connections from here on, which wait for start(). Returns the port, or 0 when it
  /// cannot be had, with the reason in errno or 0 there. `port` 0: any that is free. Once.
  virtual int bind(const std::string& address, int port) = 0;
  /// Begins to answer; any of its threads calls `handler`. They block the signals which the caller
  /// blocks now. Once, after bind().
  virtual void start(Handler handler) = 0;
};

/// Loads acid-http.so from the folder of the running executable, or from ACID_HTTP_MODULE. It is no
/// part of the program: the library that it needs takes longer to start than all the rest. Throws
/// Error saying what is missing.
std::unique_ptr<HttpServer> make_http_server();

}  // namespace acid
