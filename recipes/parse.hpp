#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"

namespace acid {

/// The content of a TOML file or pipe, `what` in errors. Throws UsageError if it cannot be read, is
/// a folder, or is longer than 16 MiB.
std::string recipe_text(const std::string& path, const char* what = "recipe");

/// Parses a whole recipe. A syntax error is reported and gives nothing.
std::optional<Node> parse_recipe(std::string_view text, Diagnostics& diagnostics);

/// One "--set KEY=VALUE".
struct Override {
  std::string key;
  Node value;
};

/// VALUE is a TOML value, or else taken as text, so quotes may be left out. Reports and returns
/// nothing if there is no key. `index`: its number among the overrides.
std::optional<Override> parse_override(const std::string& text, int index,
                                       Diagnostics& diagnostics);

}  // namespace acid
