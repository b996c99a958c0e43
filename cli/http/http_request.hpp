#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace acid {

/// A browser's request: its head, taken apart. Nothing is decoded: the addresses that acid gives
/// out need no escapes.
struct HttpRequest {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  std::string method;
  std::string path;
  Pairs parameters;  // of the address, after its question mark
  Pairs headers;     // with names in lower case

  /// How often a header occurs, and its first value, or nothing. `name` in lower case.
  std::size_t header_count(std::string_view name) const;
  std::string header(std::string_view name) const;
  /// Whether the address has this parameter, and its first value.
  bool has_parameter(std::string_view name) const;
  std::string parameter(std::string_view name) const;
};

/// Parses a request's first line and its headers, without the empty line that ends them (RFC 9112).
/// Absent when they are anything else, including continued lines and addresses of other hosts.
std::optional<HttpRequest> parse_http_head(std::string_view head);

}  // namespace acid
