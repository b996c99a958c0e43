#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

enum class FieldType {
  boolean,
  integer,
  number,
  text,
  bytes,  // a whole number of bytes, or a text with a unit such as "260 MB"; resolved to the number
  file,   // a path that must exist; relative ones are taken from the recipe's folder
  integers,  // a list of integers, each within the bounds
  numbers,
  texts,
  moment,   // of a run: a share of its budget, { epochs = 5 } or { gradients = 500 }
  moments,  // a list of such shares, { epochs = [5, 10] } or { gradients = [500, 1000] }
  edges,    // [[i, j], [i, j, weight], …], or a path to a file of such lines
  table,    // the user's own keys, with any values
  factors,  // { 0 = 4.0 }: a number for some of the workers
  section,  // a table that is declared as well, Field::table
  sections  // a list of such tables
};

struct FieldTable;
struct RunInUse;  // settings/use.hpp

/// One key that a catalog entry (a data set, a model, a topology, an algorithm, …) reads in a
/// recipe. The recipe compiler checks, completes and documents recipes from these declarations
/// alone, so a key is described in one place: the file of the thing it configures.
struct Field {
  std::string_view name;
  FieldType type;
  std::string_view fallback;  // a JSON literal; empty: the key is required; "null": may be absent
  std::string_view help;      // one line, with the unit
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false;
  bool maximum_excluded = false;
  std::string_view choices = {};  // comma-separated; of a number: texts that may stand instead
  bool needs_peers = false;       // for a method: no effect on a single worker
  bool placement = false;         // where and how long, not what: not in a run's digest
  /// The key was added when its table had runs already: at its fallback it is left out of settings,
  /// so that these runs keep their digests.
  bool later = false;
  bool added = false;       // settings that an earlier acid stored may lack it
  bool apart = false;       // checked by the code of its table: other keys decide what it is
  bool searched = false;    // a [search] may choose its value, or those of the keys in it
  std::uint8_t either = 0;  // groups of its table, as bits: of the keys of a group a recipe has one
  const FieldTable* table = nullptr;  // of a section
  /// Why a run does not look at it, though its recipe has it; nullptr: it does.
  const char* (*unused)(const RunInUse& run) = nullptr;
  /// For the reference, where it says more than the members above: the type, the meaning, an
  /// example; and where its table has it: keys stand by this number, then as they are declared.
  std::string_view words = {}, meaning = {}, example = {};
  int rank = 0;
};

/// A table of a recipe: its keys and, of tables with a "kind", the kinds.
struct FieldTable {
  /// One of the kinds, and the keys it takes besides the common ones.
  struct Kind {
    std::string_view name;
    std::span<const Field> fields;
    std::string_view summary = {};
  };
  std::span<const Field> fields = {};
  std::span<const Kind> (*kinds)() = nullptr;
  std::string_view fallback = {};  // the kind of a recipe that names none; empty: it must

  /// The key of that name; nullptr: there is none.
  const Field* find(std::string_view name) const;
};

/// Names in a list with commas.
std::vector<std::string> split_choices(std::string_view choices);

/// The value of `name` in resolved options (every field present). Throws nlohmann::json::exception
/// when it is missing or of another type.
double number(const nlohmann::json& options, std::string_view name);
std::int64_t integer(const nlohmann::json& options, std::string_view name);
std::string text(const nlohmann::json& options, std::string_view name);

/// `given` completed with the fallbacks of `fields`; keys are not checked. For tests and callers
/// that build options in code; recipes go through the recipe compiler.
nlohmann::json with_fallbacks(std::span<const Field> fields, const nlohmann::json& given);

}  // namespace acid
