#include "cli/http_server.hpp"

#include "engine/base/module.hpp"

namespace acid {

std::unique_ptr<HttpServer> make_http_server() {
  static const auto factory = load_module<HttpServer*()>({.name = "acid-http.so",
                                                          .variable = "ACID_HTTP_MODULE",
                                                          .factory = "acid_http_server",
                                                          .users = "a page in a browser needs it"});
  return std::unique_ptr<HttpServer>(factory());
}

}  // namespace acid
