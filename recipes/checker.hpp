#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"
#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"

namespace acid {

struct AlgorithmEntry;
using Kind = FieldTable::Kind;

/// "at least 0 and below 1"; empty: any number.
std::string bounds_of(const Field& field);
/// Why a key does not take this number, as "must be above 0, not -1", and what to write; nothing
/// where it does.
std::optional<Problem> why_not(double number, const Field& field);

/// Checks TOML values against Fields and completes them to resolved JSON. Every mistake is reported
/// at its place; the result is then usable only for further checks.
class Checker {
 public:
  /// Relative file names start at `folder`.
  Checker(Diagnostics& diagnostics, std::filesystem::path folder)
      : diagnostics_(&diagnostics), folder_(std::move(folder)) {}

  Diagnostics& diagnostics() { return *diagnostics_; }
  /// The recipe's own algorithms, in addition to the catalog's.
  void add_algorithms(std::vector<const AlgorithmEntry*> own) { algorithms_ = std::move(own); }
  std::span<const AlgorithmEntry* const> algorithms() const { return algorithms_; }
  /// One of them or of the catalog's; nullptr if there is none of that name.
  const AlgorithmEntry* algorithm(std::string_view name) const;

  /// One value of a field; nothing after reporting a mistake. `path` names it.
  std::optional<nlohmann::json> value(const Node& node, const Field& field, std::string_view path);
  /// The value of a key of `table` (nullptr: the recipe has no such table), or the key's fallback.
  /// `path`: of the table.
  nlohmann::json member(const Node* table, std::string_view path, const Field& field);
  /// A table, with or without a kind. `node` nullptr: every key takes its fallback. Keys that are
  /// checked apart are left to the caller. Of the keys of a group (Field::either) only the one that
  /// was given last stays, and without any those that have a fallback.
  nlohmann::json table(const Node* node, std::string_view path, const FieldTable& table);
  /// A table with "kind", or its bare name. A key of another kind is reported as such, or dropped
  /// if its Origin is earlier than the kind's, so that a swept kind starts from its own defaults.
  /// Without `fallback` the kind is required.
  nlohmann::json kinded(const Node* node, std::string_view path, std::span<const Kind> kinds,
                        std::string_view fallback, std::span<const Field> common);
  /// Reports "unknown WHAT 'NAME'WHERE", with the nearest known name or all of them.
  void unknown(const Place& place, std::string_view what, std::string_view name,
               std::span<const std::string> known, std::string_view where = {});
  /// Reports unless the node is absent or of this type.
  bool is_type(const Node* node, Node::Type type, std::string_view path, std::string_view expected);

 private:
  void fill(nlohmann::json& out, const Node* node, std::string_view path,
            std::span<const Field> fields, const Place& where, bool usable = true);
  void keep_one_of_each_group(nlohmann::json& out, const Node* node, std::string_view path,
                              std::span<const Field> fields);
  std::nullopt_t refuse(const Node& node, std::string message, std::string remedy);
  std::nullopt_t wrong_type(const Node& node, const Field& field, std::string_view path,
                            std::string_view expected);
  std::optional<nlohmann::json> number(const Node& node, const Field& field, std::string_view path,
                                       bool whole);
  std::optional<nlohmann::json> with_unit(const Node& node, const Field& field,
                                          std::string_view path);
  std::optional<nlohmann::json> choice(const Node& node, const Field& field, std::string_view path);
  std::optional<nlohmann::json> bytes(const Node& node, const Field& field, std::string_view path);
  std::optional<nlohmann::json> file(const Node& node, const Field& field, std::string_view path);
  std::optional<nlohmann::json> list(const Node& node, const Field& field, std::string_view path,
                                     bool whole);
  std::optional<nlohmann::json> texts(const Node& node, const Field& field, std::string_view path);
  std::optional<nlohmann::json> moments(const Node& node, const Field& field,
                                        std::string_view path);
  std::optional<nlohmann::json> edges(const Node& node, const Field& field, std::string_view path);
  std::optional<nlohmann::json> factors(const Node& node, const Field& field,
                                        std::string_view path);
  std::optional<nlohmann::json> tables(const Node& node, const Field& field, std::string_view path);
  std::optional<nlohmann::json> plain(const Node& node, std::string_view path);
  void check_kind_keys(const Node& table, std::string_view path, std::span<const Kind> kinds,
                       const Kind& kind, std::span<const Field> common);

  Diagnostics* diagnostics_;
  std::filesystem::path folder_;
  std::vector<const AlgorithmEntry*> algorithms_;
};

}  // namespace acid
