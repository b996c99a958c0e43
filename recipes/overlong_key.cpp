#include "recipes/overlong_key.hpp"

#include <algorithm>

#include "recipes/node.hpp"

namespace acid {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '+' || static_cast<unsigned char>(c) >= 0x80;
}

// The length of the string that the text begins with, quotes included.
std::size_t quoted_length(std::string_view text) {
  const char quote = text[0];
  const std::string_view three = text.substr(0, 3);
  const std::size_t quotes = three == "\"\"\"" || three == "'''" ? 3 : 1;
  for (std::size_t at = quotes; at < text.size(); ++at) {
    if (quotes == 1 && text[at] == '\n') return at;  // no valid string
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text.substr(at, quotes) == text.substr(0, quotes)) {
      at += quotes;
      // A string of several lines may end with quotes of its own, two at most.
      for (std::size_t own = 1; own < quotes && at < text.size() && text[at] == quote; ++own) ++at;
      return at;
    }
  }
  return text.size();
}

}  // namespace

std::optional<std::size_t> overlong_key(std::string_view toml) {
  std::size_t begin = 0, parts = 0;  // of the key at hand, if it is one
  bool dotted = false;               // it ends with a dot so far
  for (std::size_t at = 0; at < toml.size();) {
    const char c = toml[at];
    std::size_t length = 1;
    if (is_bare(c) || c == '"' || c == '\'') {
      while (is_bare(c) && at + length < toml.size() && is_bare(toml[at + length])) ++length;
      if (!is_bare(c)) length = quoted_length(toml.substr(at));
      if (!dotted) {
        begin = at;
        parts = 0;
      }
      dotted = false;
      if (++parts > kMostParts) return begin;
    } else if (c == '.') {
      dotted = parts > 0;
    } else if (c == '#') {
      length = std::min(toml.find('\n', at), toml.size()) - at;
    } else if (c != ' ' && c != '\t') {
      dotted = false;
      parts = 0;
    }
    at += length;
  }
  return std::nullopt;
}

}  // namespace acid
