#include "cli/http/http_request.hpp"

#include <algorithm>

#include "engine/base/names.hpp"

namespace acid {
namespace {

const std::string* first_of(const HttpRequest::Pairs& pairs, std::string_view name) {
  const auto found = std::ranges::find(pairs, name, &HttpRequest::Pairs::value_type::first);
  return found == pairs.end() ? nullptr : &found->second;
}

bool is_visible(char c) { return c > ' ' && c < 127; }

// Nearly the rule for a header's name and a method: no character that could end a line or a word.
bool is_word(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return is_visible(c) && c != ':' && c != '/'; });
}

/// Removes the text before `end`, and `end` itself, and returns that text; all text where there is
/// no `end`.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + end.size(), text.size()));
  return taken;
}

bool read_target(std::string_view target, HttpRequest& request) {
  if (target.empty() || target.front() != '/') return false;
  if (!std::ranges::all_of(target, is_visible)) return false;
  request.path = take_until(target, "?");
  while (!target.empty()) {
    std::string_view parameter = take_until(target, "&");
    const std::string_view name = take_until(parameter, "=");
    request.parameters.emplace_back(name, parameter);
  }
  return true;
}

bool read_header(std::string_view line, HttpRequest& request) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_word(line.substr(0, colon))) return false;
  const auto in_a_line = [](char c) { return c == '\t' || static_cast<unsigned char>(c) >= ' '; };
  const std::string_view value = trimmed(line.substr(colon + 1), " \t");
  if (!std::ranges::all_of(value, in_a_line)) return false;
  std::string name(line.substr(0, colon));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  request.headers.emplace_back(std::move(name), value);
  return true;
}

}  // namespace

std::size_t HttpRequest::header_count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count(headers, name, &Pairs::value_type::first));
}

std::string HttpRequest::header(std::string_view name) const {
  const std::string* value = first_of(headers, name);
  return value == nullptr ? std::string() : *value;
}

bool HttpRequest::has_parameter(std::string_view name) const {
  return first_of(parameters, name) != nullptr;
}

std::string HttpRequest::parameter(std::string_view name) const {
  const std::string* value = first_of(parameters, name);
  return value == nullptr ? std::string() : *value;
}

std::optional<HttpRequest> parse_http_head(std::string_view head) {
  HttpRequest request;
  std::string_view first = take_until(head, "\r\n");
  request.method = take_until(first, " ");
  const std::string_view target = take_until(first, " ");
  if (!is_word(request.method) || (first != "HTTP/1.1" && first != "HTTP/1.0")) return std::nullopt;
  if (!read_target(target, request)) return std::nullopt;
  while (!head.empty())
    if (!read_header(take_until(head, "\r\n"), request)) return std::nullopt;
  return request;
}

}  // namespace acid
