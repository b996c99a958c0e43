#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// A place in a recipe or in a --set text.
struct Place {
  int line = 0;             // from 1; 0: nowhere in the recipe
  int column = 0;           // from 1, in characters
  int length = 1;           // characters
  int override_index = -1;  // ≥ 0: column and length count in this --set text instead
};

/// The source of a value; `machine`: of execution.virtual.machine. Later ones win over earlier
/// ones, also between different keys that exclude each other (budget.epochs, budget.gradients).
enum class Origin { machine, file, override_text, sweep, algorithm_set };

/// A TOML value with its place, so that values from --set, sweeps and per-algorithm settings are
/// reported where they were written.
struct Node {
  enum class Type { boolean, integer, number, text, time, list, table };
  Type type = Type::table;
  nlohmann::json scalar;       // boolean, integer, number and text
  std::vector<Node> children;  // of lists, and of tables in the order written
  std::string key;             // within a table
  Place key_place;
  Place place;  // of the value
  Origin origin = Origin::file;

  bool is_table() const { return type == Type::table; }
  bool is_list() const { return type == Type::list; }
  bool is_text() const { return type == Type::text; }
  std::string text() const { return scalar.get<std::string>(); }
  /// The member called `name`; nullptr if absent, or if this is no table.
  const Node* find(std::string_view name) const;
  Node* find(std::string_view name);
  /// The same at a dotted path through tables.
  const Node* at(std::string_view dotted) const;
  void erase(std::string_view name);
};

/// Names the value in type errors: "the text \"fast\"", "the number 1.5", "a table".
std::string describe(const Node& node);

/// The value as JSON; of a date or time null.
nlohmann::json json_of(const Node& node);

/// The text that names a kind: the `kind` of a table, or a bare name; nullptr if there is none.
const Node* kind_of(const Node& node);

/// What is wrong, and what to do.
struct Problem {
  std::string message;
  std::string remedy;
};

/// Called with the dotted path of the key at fault.
using Report = std::function<void(std::string_view path, Problem problem)>;

/// Most names in a dotted key. Bounds the recursion over trees of nodes.
inline constexpr std::size_t kMostParts = 16;

std::vector<std::string> split_path(std::string_view dotted);

/// Sets the value at a dotted path below `root`; a number steps into a list ("algorithms.0.label"),
/// and so does a label or kind that only one of its tables has ("algorithms.ad-psgd.label").
/// Missing tables are created; a bare name on the way ("glyphs") becomes { kind = "glyphs" } first.
/// The new member's key stands at value.key_place.
std::optional<Problem> assign(Node& root, std::string_view path, Node value, Origin origin);

/// The place of the value at a dotted path, or of the deepest node on the path that exists; line 0
/// if none does.
Place place_of(const Node& root, std::string_view path);

}  // namespace acid
