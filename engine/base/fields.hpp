#pragma once

#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

namespace acid {

enum class FieldType {
  boolean,
  integer,
  number,
  text,
  file,      // a path that must exist; relative ones are taken from the recipe's folder
  integers,  // a list of integers, each within the bounds
  numbers,
  texts,
  moment,   // of a run: a share of its budget, { epochs = 5 } or { gradients = 500 }
  moments,  // a list of such shares, { epochs = [5, 10] } or { gradients = [500, 1000] }
  edges,    // [[i, j], [i, j, weight], …], or a path to a file of such lines
  table,    // the user's own keys, with any values
};

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
  std::string_view choices = {};  // comma-separated; text only
  bool needs_peers = false;       // for a method: no effect on a single worker
  bool placement = false;         // where and how long, not what: not in a run's digest
  /// The key was added when its table had runs already: at its fallback it is left out of settings,
  /// so that these runs keep their digests.
  bool later = false;
};

/// The value of `name` in resolved options (every field present). Throws nlohmann::json::exception
/// when it is missing or of another type.
double number(const nlohmann::json& options, std::string_view name);
std::int64_t integer(const nlohmann::json& options, std::string_view name);
std::string text(const nlohmann::json& options, std::string_view name);

/// `given` completed with the fallbacks of `fields`; keys are not checked. For tests and callers
/// that build options in code; recipes go through the recipe compiler.
nlohmann::json with_fallbacks(std::span<const Field> fields, const nlohmann::json& given);

}  // namespace acid
