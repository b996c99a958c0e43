#include "recipes/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "engine/methods/method.hpp"

namespace acid {
namespace {

const Field* find_field(std::span<const Field> fields, std::string_view name) {
  for (const Field& field : fields)
    if (field.name == name) return &field;
  return nullptr;
}

nlohmann::json fallback_of(const Field& field) {
  return field.fallback.empty() ? nlohmann::json() : nlohmann::json::parse(field.fallback);
}

// "adam and adamw": the kinds that take a key.
std::string owners_of(std::span<const Kind> kinds, std::string_view key) {
  std::string owners;
  for (const Kind& kind : kinds)
    if (find_field(kind.fields, key) != nullptr)
      owners += (owners.empty() ? "" : " and ") + fmt::format("'{}'", kind.name);
  return owners;
}

}  // namespace

const AlgorithmEntry* Checker::algorithm(std::string_view name) const {
  for (const AlgorithmEntry* own : algorithms_)
    if (own->name == name) return own;
  return find_algorithm(name);
}

void Checker::fill(nlohmann::json& out, const Node* node, std::string_view path,
                   std::span<const Field> fields, const Place& where, bool usable) {
  for (const Field& field : fields) {
    if (field.apart) continue;
    const std::string name(field.name);
    const bool given = node != nullptr && node->find(field.name) != nullptr;
    if (!given && usable && field.fallback.empty() && field.type != FieldType::section)
      diagnostics_->error(where, fmt::format("{}.{} is required", path, name),
                          fmt::format("{}: {}", name, field.help));
    out[name] = member(node, path, field);
    if (field.later && out[name] == fallback_of(field)) out.erase(name);
  }
}

nlohmann::json Checker::member(const Node* table, std::string_view path, const Field& field) {
  const Node* const given = table == nullptr ? nullptr : table->find(field.name);
  const std::string full = fmt::format("{}.{}", path, field.name);
  if (given == nullptr && field.type == FieldType::section && field.fallback.empty())
    return this->table(nullptr, full, *field.table);
  auto checked = given == nullptr ? std::nullopt : value(*given, field, full);
  return checked ? std::move(*checked) : fallback_of(field);
}

nlohmann::json Checker::table(const Node* node, std::string_view path, const FieldTable& table) {
  if (table.kinds != nullptr)
    return kinded(node, path, table.kinds(), table.fallback, table.fields);
  const bool usable = is_type(node, Node::Type::table, path, "a table");
  if (!usable) node = nullptr;
  nlohmann::json out = nlohmann::json::object();
  if (node != nullptr)
    for (const Node& child : node->children)
      if (table.find(child.key) == nullptr)
        unknown(child.key_place, "key", child.key, names_of(table.fields),
                fmt::format(" in {}", path));
  fill(out, node, path, table.fields, node == nullptr ? Place{} : node->place, usable);
  keep_one_of_each_group(out, node, path, table.fields);
  return out;
}

nlohmann::json Checker::kinded(const Node* node, std::string_view path, std::span<const Kind> kinds,
                               std::string_view fallback, std::span<const Field> common) {
  nlohmann::json out = nlohmann::json::object();
  if (node != nullptr && !node->is_table() && !node->is_text()) {
    diagnostics_->error(
        node->place,
        fmt::format("{} must be a name or a table with a kind, not {}", path, describe(*node)),
        fmt::format("write {} = \"{}\"", path, kinds.front().name));
    return out;
  }
  const Node* given = node != nullptr && node->is_table() ? node->find("kind") : node;
  const Place where = node == nullptr ? Place{} : node->place;
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  if (given == nullptr && fallback.empty()) {
    diagnostics_->error(where, fmt::format("{} needs a kind", path),
                        fmt::format("known: {}", one_of(names)));
    return out;
  }
  if (!is_type(given, Node::Type::text, fmt::format("{}.kind", path), "text in quotes")) return out;
  const std::string name = given == nullptr ? std::string(fallback) : given->text();
  const auto kind = std::ranges::find(kinds, name, &Kind::name);
  if (kind == kinds.end()) {
    unknown(given->place, path == "claims" ? "kind of claim" : path, name, names);
    return out;
  }
  out["kind"] = name;
  const Node* table = node != nullptr && node->is_table() ? node : nullptr;
  Node own;
  if (table != nullptr) {
    const Origin origin = given == nullptr ? Origin::file : given->origin;
    own = *table;
    std::erase_if(own.children, [&](const Node& child) {
      const bool of_kind = find_field(kind->fields, child.key) != nullptr;
      return !of_kind && find_field(common, child.key) == nullptr && child.origin < origin &&
             !owners_of(kinds, child.key).empty();
    });
    check_kind_keys(own, path, kinds, *kind, common);
  }
  fill(out, table == nullptr ? nullptr : &own, path, common, where);
  fill(out, table == nullptr ? nullptr : &own, path, kind->fields, where);
  return out;
}

void Checker::check_kind_keys(const Node& table, std::string_view path, std::span<const Kind> kinds,
                              const Kind& kind, std::span<const Field> common) {
  std::vector<std::string> known = names_of(common);
  for (std::string& name : names_of(kind.fields)) known.push_back(std::move(name));
  known.emplace_back("kind");
  for (const Node& child : table.children) {
    if (std::find(known.begin(), known.end(), child.key) != known.end()) continue;
    const std::string owners = owners_of(kinds, child.key);
    if (owners.empty()) {
      unknown(child.key_place, "key", child.key, known,
              fmt::format(" in {} of kind '{}'", path, kind.name));
    } else {
      diagnostics_->error(
          child.key_place,
          fmt::format("{}.{} belongs to kind {}, not to '{}'", path, child.key, owners, kind.name),
          "remove the key or change the kind");
    }
  }
}

void Checker::keep_one_of_each_group(nlohmann::json& out, const Node* node, std::string_view path,
                                     std::span<const Field> fields) {
  std::array<const Node*, 8> chosen = {};  // by group
  const auto is_in = [&](std::string_view key, std::size_t group) {
    const Field* const field = find_field(fields, key);
    return field != nullptr && (field->either >> group & 1) != 0;
  };
  for (std::size_t g = 0; node != nullptr && g < chosen.size(); ++g)
    for (const Node& child : node->children) {
      if (!is_in(child.key, g)) continue;
      if (chosen[g] != nullptr && chosen[g]->origin == child.origin)
        diagnostics_->error(child.key_place,
                            fmt::format("{}.{} and {}.{} exclude each other", path, chosen[g]->key,
                                        path, child.key),
                            "keep one of the two");
      if (chosen[g] == nullptr || child.origin >= chosen[g]->origin) chosen[g] = &child;
    }
  const auto holds = [&](const Node& child) {
    for (std::size_t g = 0; g < chosen.size(); ++g)
      if (is_in(child.key, g) && chosen[g] != &child) return false;
    return true;
  };
  for (const Field& field : fields) {
    const bool given = node != nullptr && node->find(field.name) != nullptr;
    bool lost = field.either != 0 && !given && field.fallback == "null";
    for (std::size_t g = 0; g < chosen.size(); ++g)
      lost = lost || (is_in(field.name, g) && chosen[g] != nullptr &&
                      chosen[g]->key != field.name && holds(*chosen[g]));
    if (lost) out.erase(std::string(field.name));
  }
}

}  // namespace acid
