// acid-http.so: the web server, of cpp-httplib.
#include <httplib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "cli/http_server.hpp"
#include "engine/base/mutex.hpp"

namespace acid {
namespace {

constexpr std::size_t kThreads = 8;

class Request final : public HttpRequest {
 public:
  explicit Request(const httplib::Request& request) : request_(request) {}
  std::string method() const override { return request_.method; }
  std::string path() const override { return request_.path; }
  std::size_t header_count(const std::string& name) const override {
    return request_.get_header_value_count(name.c_str());
  }
  std::string header(const std::string& name) const override {
    return request_.get_header_value(name.c_str());
  }
  bool has_parameter(const std::string& name) const override {
    return request_.has_param(name.c_str());
  }
  std::string parameter(const std::string& name) const override {
    return request_.get_param_value(name.c_str());
  }

 private:
  const httplib::Request& request_;
};

void send(HttpResponse answer, httplib::Response& response) {
  response.status = answer.status;
  for (const auto& [name, value] : answer.headers) response.set_header(name.c_str(), value);
  if (answer.body == nullptr || answer.body->empty())
    return response.set_content("", answer.type.c_str());
  const std::size_t bytes = answer.body->size();
  response.set_content_provider(
      bytes, answer.type.c_str(),
      [body = std::move(answer.body)](std::size_t offset, std::size_t length,
                                      httplib::DataSink& sink) {
        return sink.write(body->data() + offset, length);
      });
}

class Server final : public HttpServer {
 public:
  ~Server() override;
  int bind(const std::string& address, int port) override;
  void start(Handler handler) override;

 private:
  httplib::Server server_;
  std::thread listening_;
  Mutex mutex_;
  Condition ready_;
  bool running_ GUARDED_BY(mutex_) = false;
};

Server::~Server() {
  if (!listening_.joinable()) return;
  {
    // A server that does not run yet could not be stopped.
    const MutexLock lock(mutex_);
    while (!running_) ready_.wait(mutex_);
  }
  server_.stop();
  listening_.join();
}

int Server::bind(const std::string& address, int port) {
  // Not httplib's own choice, by which a second server could share the port of the first.
  server_.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  errno = 0;
  if (port == 0) return std::max(0, server_.bind_to_any_port(address.c_str()));
  return server_.bind_to_port(address.c_str(), port) ? port : 0;
}

void Server::start(Handler handler) {
  // One request per connection: while a connection is kept, its thread asks for more again and
  // again.
  server_.set_keep_alive_max_count(1).set_keep_alive_timeout(1);
  server_.set_read_timeout(5).set_write_timeout(20).set_payload_max_length(0);
  server_.set_pre_routing_handler(
      [answer = std::move(handler)](const httplib::Request& request, httplib::Response& response) {
        send(answer(Request(request)), response);
        return httplib::Server::HandlerResponse::Handled;
      });
  server_.new_task_queue = [this] {  // called once it runs
    const MutexLock lock(mutex_);
    running_ = true;
    ready_.notify_all();
    return new httplib::ThreadPool(kThreads);
  };
  listening_ = std::thread([this] { server_.listen_after_bind(); });
}

}  // namespace
}  // namespace acid

extern "C" acid::HttpServer* acid_http_server() { return new acid::Server; }
