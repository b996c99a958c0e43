#include "recipes/parse.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"

namespace acid {
namespace {

constexpr std::size_t kMostBytes = 16 << 20;  // of a recipe; /dev/zero never ends

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

// The offset of the first dotted key with more than kMostParts parts in a TOML text. toml++
// recurses once per part without a limit and could overflow the stack. Linear time; skips strings
// and comments, and leaves invalid TOML to the parser.
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

Place place_in(const toml::source_region& region) {
  Place place{.line = static_cast<int>(region.begin.line),
              .column = static_cast<int>(region.begin.column)};
  // A value of several lines is underlined to the end of its first line.
  place.length = region.end.line == region.begin.line
                     ? std::max(1, static_cast<int>(region.end.column) - place.column)
                     : 1'000'000;
  return place;
}

Node converted(const toml::node& source) {
  Node node;
  node.place = place_in(source.source());
  switch (source.type()) {
    case toml::node_type::boolean:
      node.type = Node::Type::boolean;
      node.scalar = source.as_boolean()->get();
      break;
    case toml::node_type::integer:
      node.type = Node::Type::integer;
      node.scalar = source.as_integer()->get();
      break;
    case toml::node_type::floating_point:
      node.type = Node::Type::number;
      node.scalar = source.as_floating_point()->get();
      break;
    case toml::node_type::string:
      node.type = Node::Type::text;
      node.scalar = source.as_string()->get();
      break;
    case toml::node_type::array:
      node.type = Node::Type::list;
      for (const toml::node& item : *source.as_array()) node.children.push_back(converted(item));
      break;
    case toml::node_type::table:
      for (const auto& [key, value] : *source.as_table()) {
        node.children.push_back(converted(value));
        node.children.back().key = std::string(key.str());
        node.children.back().key_place = place_in(key.source());
      }
      // toml++ sorts by name; this restores the order of the file.
      std::stable_sort(node.children.begin(), node.children.end(),
                       [](const Node& a, const Node& b) {
                         return std::tie(a.key_place.line, a.key_place.column) <
                                std::tie(b.key_place.line, b.key_place.column);
                       });
      break;
    default:
      node.type = Node::Type::time;
      break;
  }
  return node;
}

Place place_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return {.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          .column = 1 + static_cast<int>(printable(before.substr(line_begin)).size()),
          .length = 1};
}

// Whether a text in quotes does not end on its line.
bool ends_in_text(std::string_view recipe, const toml::parse_error& error) {
  if (!error.description().starts_with("Error while parsing string")) return false;
  std::size_t begin = 0;
  for (auto line = error.source().begin.line; line > 1; --line) {
    begin = recipe.find('\n', begin);
    if (begin == std::string_view::npos) return true;
    ++begin;
  }
  const std::string_view rest = recipe.substr(begin);
  return error.source().begin.column > printable(rest.substr(0, rest.find('\n'))).size();
}

void move_to(Node& node, const Place& key, const Place& value) {
  node.key_place = key;
  node.place = value;
  for (Node& child : node.children) move_to(child, value, value);
}

// VALUE as TOML, or as plain text when it is not a TOML value.
Node override_value(const std::string& value) {
  Node node;
  node.type = Node::Type::text;
  node.scalar = value;
  if (overlong_key(value)) return node;
  try {
    const toml::table parsed = toml::parse("value = " + value);
    // With a line break the text could contain a second key.
    if (parsed.size() == 1 && parsed.contains("value")) return converted(*parsed.get("value"));
  } catch (const toml::parse_error&) {
  }
  return node;
}

// What to do about a description of the library's.
const char* remedy_of(std::string_view description) {
  const auto says = [&](const char* words) { return description.find(words) != description.npos; };
  if (says("cannot redefine")) return "it is there above already: remove one of the two";
  if (says("not representable")) return "no number of a recipe is that large: write a smaller one";
  if (says("parsing value") || says("parsing boolean") || says("parsing floating-point") ||
      says("expected value"))
    return "this is not valid TOML: write a number, true, false, a list, or a text in quotes";
  return "this is not valid TOML: fix the syntax here (texts need quotes)";
}

}  // namespace

std::string recipe_text(const std::string& path, const char* what) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw UsageError(fmt::format("'{}' is a folder: name the {} in it", clip(path, 200), what));
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 1 << 16> block;
  while (text.size() <= kMostBytes && (file.read(block.data(), block.size()) || file.gcount() > 0))
    text.append(block.data(), static_cast<std::size_t>(file.gcount()));
  if (!file.eof() && text.size() <= kMostBytes)
    throw UsageError(fmt::format("cannot read the {} '{}': {}", what, clip(path, 200),
                                 std::filesystem::exists(path, ignored) ? "check its permissions"
                                                                        : "there is no such file"));
  if (text.size() > kMostBytes)
    throw UsageError(fmt::format("'{}' is longer than {} MiB: is it a {}?", clip(path, 200),
                                 kMostBytes >> 20, what));
  return text;
}

std::optional<Node> parse_recipe(std::string_view text, Diagnostics& diagnostics) {
  if (const auto at = overlong_key(text)) {
    diagnostics.error(place_at(text, *at), fmt::format("a key of more than {} parts", kMostParts),
                      "join fewer names with dots; recipes nest less deep");
    return std::nullopt;
  }
  try {
    const toml::table table = toml::parse(text);
    Node root = converted(table);
    root.place = {};
    return root;
  } catch (const toml::parse_error& error) {
    const bool open = ends_in_text(text, error);
    diagnostics.error(
        place_in(error.source()),
        open ? "the text before this has no closing quote" : clip(error.description(), 200),
        open ? "write the quote at the end of the text; one of several lines stands in "
               "three quotes"
             : remedy_of(error.description()));
    return std::nullopt;
  }
}

std::optional<Override> parse_override(const std::string& text, int index,
                                       Diagnostics& diagnostics) {
  const auto width = [](std::string_view part) { return static_cast<int>(printable(part).size()); };
  const std::size_t equals = text.find('=');
  const std::string key(trimmed(std::string_view(text).substr(0, equals), " \t\""));
  if (equals == std::string::npos || key.empty() || !is_valid_utf8(text)) {
    diagnostics.error({.column = 1, .length = width(text), .override_index = index},
                      "--set needs KEY=VALUE",
                      "write a dotted key and a value, such as optimizer.learning_rate=0.1");
    return std::nullopt;
  }
  const int key_width = width(text.substr(0, equals));
  Override result{.key = key, .value = override_value(text.substr(equals + 1))};
  move_to(result.value, {.column = 1, .length = key_width, .override_index = index},
          {.column = key_width + 2,
           .length = std::max(1, width(text.substr(equals + 1))),
           .override_index = index});
  return result;
}

}  // namespace acid
