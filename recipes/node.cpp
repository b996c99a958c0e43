#include "recipes/node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"

namespace acid {
namespace {

void mark_origin(Node& node, Origin origin) {
  node.origin = origin;
  for (Node& child : node.children) mark_origin(child, origin);
}

std::optional<std::size_t> index_of(std::string_view segment) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(segment.begin(), segment.end(), index);
  if (error != std::errc{} || end != segment.end()) return std::nullopt;
  return index;
}

// Whether a table in a list, as in [[algorithms]], has this label or kind.
bool is_called(const Node& node, std::string_view name) {
  const auto is = [&](const Node* text) {
    return text != nullptr && text->is_text() && text->text() == name;
  };
  return is(node.find("label")) || is(kind_of(node));
}

// Finds by number, otherwise by name; nullptr: none or several.
Node* item_of(Node& list, const std::string& segment) {
  if (const auto index = index_of(segment))
    return *index < list.children.size() ? &list.children[*index] : nullptr;
  Node* found = nullptr;
  for (Node& child : list.children) {
    if (!is_called(child, segment)) continue;
    if (found != nullptr) return nullptr;
    found = &child;
  }
  return found;
}

std::string names_in(const Node& list) {
  std::string names;
  for (std::size_t i = 0; i < list.children.size(); ++i) {
    const Node* const kind = kind_of(list.children[i]);
    names += fmt::format("{}{}{}", i == 0 ? "" : ", ", i,
                         kind != nullptr ? " " + clip(kind->text(), 40) : "");
  }
  return names;
}

// A bare name stands for a table that has only a kind.
void name_to_table(Node& node) {
  Node kind = node;
  kind.key = "kind";
  kind.key_place = node.place;
  node.type = Node::Type::table;
  node.scalar = nullptr;
  node.children = {std::move(kind)};
}

Node& member(Node& table, const std::string& key, const Place& place) {
  if (Node* found = table.find(key)) return *found;
  Node created;
  created.key = key;
  created.key_place = created.place = place;
  table.children.push_back(std::move(created));
  return table.children.back();
}

}  // namespace

const Node* Node::find(std::string_view name) const {
  if (!is_table()) return nullptr;
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const Node& child) { return child.key == name; });
  return found == children.end() ? nullptr : &*found;
}

Node* Node::find(std::string_view name) {
  return const_cast<Node*>(static_cast<const Node*>(this)->find(name));
}

const Node* Node::at(std::string_view dotted) const {
  const Node* node = this;
  for (const std::string& name : split_path(dotted))
    if (node != nullptr) node = node->find(name);
  return node;
}

void Node::erase(std::string_view name) {
  std::erase_if(children, [&](const Node& child) { return child.key == name; });
}

nlohmann::json json_of(const Node& node) {
  if (!node.is_table() && !node.is_list()) return node.scalar;
  nlohmann::json all = node.is_table() ? nlohmann::json::object() : nlohmann::json::array();
  for (const Node& child : node.children)
    if (node.is_table())
      all[child.key] = json_of(child);
    else
      all.push_back(json_of(child));
  return all;
}

const Node* kind_of(const Node& node) {
  const Node* const kind = node.is_table() ? node.find("kind") : &node;
  return kind != nullptr && kind->is_text() ? kind : nullptr;
}

std::string describe(const Node& node) {
  switch (node.type) {
    case Node::Type::boolean:
      return node.scalar.get<bool>() ? "true" : "false";
    case Node::Type::integer:
      return fmt::format("the whole number {}", node.scalar.dump());
    case Node::Type::number:
      return fmt::format("the number {}", node.scalar.get<double>());
    case Node::Type::text:
      return fmt::format("the text \"{}\"", clip(node.text(), 40));
    case Node::Type::time:
      return "a date or time";
    case Node::Type::list:
      return "a list";
    case Node::Type::table:
      return "a table";
  }
  return {};
}

std::vector<std::string> split_path(std::string_view dotted) {
  const std::vector<std::string_view> names = split_at(dotted, '.');
  return {names.begin(), names.end()};
}

std::optional<Problem> assign(Node& root, std::string_view path, Node value, Origin origin) {
  const std::vector<std::string> segments = split_path(path);
  const auto no_key = [&](const Node& node, const std::string& segment) {
    return Problem{
        fmt::format("'{}' leads nowhere: there is no '{}' in {}", clip(path, 80), clip(segment, 40),
                    describe(node)),
        node.is_list() && !node.children.empty()
            ? fmt::format("use a number, or a name that only one has: {}", names_in(node))
            : "check the dotted key against the recipe"};
  };
  if (segments.size() > kMostParts)
    return Problem{fmt::format("'{}' joins more than {} names", clip(path, 80), kMostParts),
                   "write names of sections and keys, such as optimizer.learning_rate"};
  Node* node = &root;
  for (std::size_t depth = 0; depth < segments.size(); ++depth) {
    const std::string& segment = segments[depth];
    if (segment.empty())
      return Problem{fmt::format("'{}' is not a dotted key", clip(path, 80)),
                     "write names joined by single dots, such as optimizer.learning_rate"};
    if (node->is_text()) name_to_table(*node);
    if (node->is_table()) {
      node = &member(*node, segment, value.key_place);
    } else if (Node* const item = node->is_list() ? item_of(*node, segment) : nullptr) {
      node = item;
    } else {
      return no_key(*node, segment);
    }
  }
  value.key = node->key;
  *node = std::move(value);
  mark_origin(*node, origin);
  return std::nullopt;
}

Place place_of(const Node& root, std::string_view path) {
  const Node* node = &root;
  for (const std::string& segment : split_path(path)) {
    const Node* next = nullptr;
    if (const auto index = index_of(segment); node->is_list() && index)
      next = *index < node->children.size() ? &node->children[*index] : nullptr;
    else
      next = node->find(segment);
    if (next == nullptr) break;
    node = next;
  }
  // Never underlines the whole recipe.
  return node == &root ? Place{} : node->place;
}

}  // namespace acid
