#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <system_error>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "recipes/checker.hpp"
#include "recipes/units.hpp"

namespace acid {
namespace {

constexpr double kSmallest = 1e-60;  // its square is still a normal number

std::string help_of(const Field& field) { return fmt::format("{}: {}", field.name, field.help); }

bool within_bounds(double value, const Field& field) {
  const bool above = field.minimum_excluded ? value > field.minimum : value >= field.minimum;
  const bool below = field.maximum_excluded ? value < field.maximum : value <= field.maximum;
  return above && below;
}

constexpr double kMostExact = 0x1p53;  // of whole numbers in a double

bool is_index(std::string_view key) {
  const bool digits =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !key.empty() && key.size() < 8 && (key.size() == 1 || key[0] != '0');
}

}  // namespace

std::string bounds_of(const Field& field) {
  std::string text;
  if (std::isfinite(field.minimum))
    text = fmt::format("{} {}", field.minimum_excluded ? "above" : "at least", field.minimum);
  if (std::isfinite(field.maximum))
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ",
                        field.maximum_excluded ? "below" : "at most", field.maximum);
  return text;
}

std::optional<Problem> why_not(double number, const Field& field) {
  if (!std::isfinite(number))
    return Problem{fmt::format("must be finite, not {}", number), help_of(field)};
  if (!within_bounds(number, field))
    return Problem{fmt::format("must be {}, not {}", bounds_of(field), number), help_of(field)};
  if (number != 0 && std::abs(number) < kSmallest)
    return Problem{
        fmt::format("cannot be {}: products of numbers this small are 0", number),
        fmt::format("write {}at least {}", within_bounds(0, field) ? "0, or " : "", kSmallest)};
  return std::nullopt;
}

std::optional<nlohmann::json> Checker::value(const Node& node, const Field& field,
                                             std::string_view path) {
  switch (field.type) {
    case FieldType::boolean:
      if (node.type == Node::Type::boolean) return node.scalar;
      return wrong_type(node, field, path, "true or false");
    case FieldType::integer:
      return number(node, field, path, true);
    case FieldType::number:
      if (node.is_text() && !field.choices.empty()) return choice(node, field, path);
      return number(node, field, path, false);
    case FieldType::text:
      return choice(node, field, path);
    case FieldType::bytes:
      return bytes(node, field, path);
    case FieldType::file:
      return file(node, field, path);
    case FieldType::integers:
      return list(node, field, path, true);
    case FieldType::numbers:
      return list(node, field, path, false);
    case FieldType::texts:
      return texts(node, field, path);
    case FieldType::moment:
    case FieldType::moments:
      return moments(node, field, path);
    case FieldType::edges:
      return edges(node, field, path);
    case FieldType::table:
      if (node.is_table()) return plain(node, path);
      return wrong_type(node, field, path, "a table of keys");
    case FieldType::factors:
      return factors(node, field, path);
    case FieldType::section:
      return table(&node, path, *field.table);
    case FieldType::sections:
      return tables(node, field, path);
  }
  return std::nullopt;
}

std::nullopt_t Checker::refuse(const Node& node, std::string message, std::string remedy) {
  diagnostics_->error(node.place, std::move(message), std::move(remedy));
  return std::nullopt;
}

std::nullopt_t Checker::wrong_type(const Node& node, const Field& field, std::string_view path,
                                   std::string_view expected) {
  return refuse(node, fmt::format("{} must be {}, not {}", path, expected, describe(node)),
                help_of(field));
}

std::optional<nlohmann::json> Checker::number(const Node& node, const Field& field,
                                              std::string_view path, bool whole) {
  if (node.is_text() && !whole && !units_of(field).empty()) return with_unit(node, field, path);
  const bool is_whole = node.type == Node::Type::integer;
  if (!is_whole && (whole || node.type != Node::Type::number))
    return wrong_type(node, field, path, whole ? "a whole number" : "a number");
  const double number = node.scalar.get<double>();
  if (const auto problem = why_not(number, field))
    return refuse(node, fmt::format("{} {}", path, problem->message), problem->remedy);
  // One spelling per value, so that 1, 1.0 and -0.0 give the digests of their equals.
  if (whole) return node.scalar;
  return number + 0.0;
}

std::optional<nlohmann::json> Checker::with_unit(const Node& node, const Field& field,
                                                 std::string_view path) {
  const auto value = value_with_unit(node.text(), field);
  if (!value)
    return refuse(node,
                  fmt::format("{} is no number with a unit: '{}'", path, clip(node.text(), 40)),
                  fmt::format("write a number in {} without quotes, or one with {}, as in \"{}\"",
                              plain_unit_of(field), names_of_units(units_of(field)),
                              example_with_unit(field)));
  Node counted = node;
  counted.type = Node::Type::number;
  counted.scalar = *value;
  return number(counted, field, path, false);
}

std::optional<nlohmann::json> Checker::choice(const Node& node, const Field& field,
                                              std::string_view path) {
  if (!node.is_text()) return wrong_type(node, field, path, "text in quotes");
  if (field.choices.empty()) return node.scalar;
  const std::vector<std::string> known = split_choices(field.choices);
  if (std::ranges::find(known, node.text()) != known.end()) return node.scalar;
  unknown(node.place, path, node.text(), known);
  return std::nullopt;
}

std::optional<nlohmann::json> Checker::bytes(const Node& node, const Field& field,
                                             std::string_view path) {
  const bool is_number = node.type == Node::Type::integer || node.type == Node::Type::number;
  if (!is_number && !node.is_text())
    return wrong_type(node, field, path, "a number of bytes, or text such as \"260 MB\"");
  const auto count = is_number ? std::optional(node.scalar.get<double>()) : bytes_in(node.text());
  if (!count)
    return refuse(node, fmt::format("{} is no size: '{}'", path, clip(node.text(), 40)),
                  fmt::format("write a number and one of {}, as in \"260 MB\", \"1.5 GB\" or "
                              "\"64 KiB\"",
                              names_of_units(kByteUnits)));
  if (*count > kMostExact)
    return refuse(node, fmt::format("{} is too large: {}", path, describe(node)),
                  "write at most \"9 PB\"");
  if (*count != std::round(*count))
    return refuse(node,
                  fmt::format("{} must be a whole number of bytes, and {} is {:.17g}", path,
                              describe(node), *count),
                  "write another number, or the number of bytes");
  Node counted = node;
  counted.type = Node::Type::integer;
  counted.scalar = static_cast<std::int64_t>(*count);
  return number(counted, field, path, true);
}

std::optional<nlohmann::json> Checker::file(const Node& node, const Field& field,
                                            std::string_view path) {
  if (!node.is_text()) return wrong_type(node, field, path, "a path in quotes");
  std::error_code error;
  const std::filesystem::path full =
      std::filesystem::absolute(folder_ / node.text(), error).lexically_normal();
  const std::filesystem::file_type type = std::filesystem::status(full, error).type();
  const std::string named = clip(node.text(), 80);
  if (type == std::filesystem::file_type::none)
    return refuse(node,
                  fmt::format("{}: '{}' cannot be looked at: {}", path, named, error.message()),
                  "check the permissions of the folders that it is in");
  if (node.text().empty() || type == std::filesystem::file_type::not_found)
    return refuse(node, fmt::format("{}: '{}' does not exist", path, named),
                  node.text().empty()
                      ? "write the path of a file"
                      : fmt::format("looked for {}; relative paths start at the recipe's "
                                    "folder",
                                    clip(full.string(), 200)));
  if (type != std::filesystem::file_type::regular && type != std::filesystem::file_type::directory)
    return refuse(node, fmt::format("{}: '{}' is a pipe or a device", path, named),
                  "name a file: it is read again at every start of every run");
  if (!is_valid_utf8(full.string()))
    return refuse(
        node, fmt::format("{}: the path of '{}' is no UTF-8, in which acid keeps it", path, named),
        fmt::format("rename what has a '?' in {}", clip(full.string(), 200)));
  return full.string();
}

std::optional<nlohmann::json> Checker::list(const Node& node, const Field& field,
                                            std::string_view path, bool whole) {
  if (!node.is_list())
    return wrong_type(node, field, path, whole ? "a list of whole numbers" : "a list of numbers");
  nlohmann::json values = nlohmann::json::array();
  bool good = true;
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const auto item = number(node.children[i], field, fmt::format("{}[{}]", path, i), whole);
    good = good && item.has_value();
    values.push_back(item.value_or(nullptr));
  }
  return good ? std::optional(values) : std::nullopt;
}

// Keeps epochs and gradients: they become shares once the budget is known.
std::optional<nlohmann::json> Checker::moments(const Node& node, const Field& field,
                                               std::string_view path) {
  const bool many = field.type == FieldType::moments;
  if (!node.is_table())
    return many ? list(node, field, path, false) : number(node, field, path, false);
  constexpr double kMost = 1e15;
  const auto unit = [&](std::string_view name, FieldType type) {
    return Field{.name = name,
                 .type = type,
                 .fallback = "null",
                 .help = field.help,
                 .minimum = 0,
                 .maximum = kMost,
                 .minimum_excluded = field.minimum_excluded};
  };
  const Node* const given = node.children.size() == 1 ? &node.children.front() : nullptr;
  if (given == nullptr || (given->key != "epochs" && given->key != "gradients"))
    return wrong_type(
        node, field, path,
        many ? "a list of shares of the budget, { epochs = [...] } or { gradients = [...] }"
             : "a share of the budget, { epochs = ... } or { gradients = ... }");
  const bool whole = given->key == "gradients";
  const FieldType one = whole ? FieldType::integer : FieldType::number;
  const FieldType several = whole ? FieldType::integers : FieldType::numbers;
  auto counts =
      value(*given, unit(given->key, many ? several : one), fmt::format("{}.{}", path, given->key));
  if (!counts) return std::nullopt;
  return nlohmann::json{{given->key, std::move(*counts)}};
}

std::optional<nlohmann::json> Checker::texts(const Node& node, const Field& field,
                                             std::string_view path) {
  nlohmann::json values = nlohmann::json::array();
  bool good = node.is_list(), has_empty = false;
  for (const Node& item : node.children) {
    good = good && item.is_text() && !item.text().empty();
    has_empty |= item.is_text() && item.text().empty();
    if (good) values.push_back(item.text());
  }
  if (good) return values;
  if (has_empty) return refuse(node, fmt::format("a text in {} is empty", path), "remove it");
  return wrong_type(node, field, path, "a list of texts in quotes");
}

std::optional<nlohmann::json> Checker::edges(const Node& node, const Field& field,
                                             std::string_view path) {
  if (node.is_text()) return file(node, field, path);
  if (!node.is_list())
    return wrong_type(node, field, path,
                      "a list of [i, j] or [i, j, weight], or a file of such lines");
  nlohmann::json values = nlohmann::json::array();
  bool good = true;
  for (const Node& edge : node.children) {
    const auto is = [&](std::size_t at, bool whole) {
      const Node& part = edge.children[at];
      if (part.type == Node::Type::integer) return part.scalar.get<std::int64_t>() >= 0;
      return !whole && part.type == Node::Type::number && std::isfinite(part.scalar.get<double>());
    };
    const std::size_t size = edge.children.size();
    if (!edge.is_list() || size < 2 || size > 3 || !is(0, true) || !is(1, true) ||
        (size == 3 && !is(2, false))) {
      wrong_type(edge, field, path, "a list of edges [i, j] or [i, j, weight], workers from 0");
      good = false;
      continue;
    }
    nlohmann::json item = {edge.children[0].scalar, edge.children[1].scalar};
    if (size == 3) item.push_back(edge.children[2].scalar.get<double>());
    values.push_back(item);
  }
  return good ? std::optional(values) : std::nullopt;
}

// { "0": 4.0 }. That the workers exist is checked once their number is known.
std::optional<nlohmann::json> Checker::factors(const Node& node, const Field& field,
                                               std::string_view path) {
  if (!is_type(&node, Node::Type::table, path, "a table { 0 = 4.0 }")) return std::nullopt;
  nlohmann::json factors = nlohmann::json::object();
  for (const Node& child : node.children) {
    if (!is_index(child.key))
      unknown(child.key_place, fmt::format("{} worker", path), child.key,
              std::vector<std::string>{"a worker's number, counted from 0"});
    else if (auto factor = number(child, field, fmt::format("{}.{}", path, child.key), false))
      factors[child.key] = *factor;
  }
  return factors;
}

std::optional<nlohmann::json> Checker::tables(const Node& node, const Field& field,
                                              std::string_view path) {
  if (!is_type(&node, Node::Type::list, path, "a list of tables")) return std::nullopt;
  nlohmann::json items = nlohmann::json::array();
  for (std::size_t i = 0; i < node.children.size(); ++i)
    items.push_back(table(&node.children[i], fmt::format("{}[{}]", path, i), *field.table));
  return items;
}

std::optional<nlohmann::json> Checker::plain(const Node& node, std::string_view path) {
  if (node.type == Node::Type::time ||
      (node.type == Node::Type::number && !std::isfinite(node.scalar.get<double>())))
    return refuse(node, fmt::format("{} cannot be {}", path, describe(node)),
                  "use numbers, texts, true or false, lists and tables");
  if (!node.is_table() && !node.is_list()) return node.scalar;
  nlohmann::json all = node.is_table() ? nlohmann::json::object() : nlohmann::json::array();
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = node.children[i];
    auto value = plain(child, node.is_table() ? fmt::format("{}.{}", path, child.key)
                                              : fmt::format("{}[{}]", path, i));
    if (!value) return std::nullopt;
    if (node.is_table())
      all[child.key] = std::move(*value);
    else
      all.push_back(std::move(*value));
  }
  return all;
}

void Checker::unknown(const Place& place, std::string_view what, std::string_view name,
                      std::span<const std::string> known, std::string_view where) {
  diagnostics_->error(place, fmt::format("unknown {} '{}'{}", what, clip(name, 60), where),
                      did_you_mean(name, known));
}

bool Checker::is_type(const Node* node, Node::Type type, std::string_view path,
                      std::string_view expected) {
  if (node == nullptr || node->type == type) return true;
  diagnostics_->error(node->place,
                      fmt::format("{} must be {}, not {}", path, expected, describe(*node)),
                      fmt::format("write {} as {}", path, expected));
  return false;
}

}  // namespace acid
