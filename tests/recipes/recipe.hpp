#pragma once

#include <string>
#include <vector>

#include "recipes/plan.hpp"
#include "tests/catch.hpp"

namespace acid::test {

/// `text` with the missing sections added below, so that a test shows only its subject.
inline std::string completed(std::string text) {
  const auto add = [&](const char* header, const char* section) {
    if (text.find(header) == std::string::npos) text += section;
  };
  text += "\n";
  add("[task]", "[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n");
  add("[workers]", "[workers]\ncount = 4\n");
  add("[budget]", "[budget]\ngradients = 100\n");
  add("[[algorithms]]", "[[algorithms]]\nkind = \"ad-psgd\"\n");
  return text;
}

inline Plan compiled(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return compile_recipe("test.toml", completed(text), overrides);
}

/// The digest of the first run.
inline std::string digest(const std::string& text) { return compiled(text).runs.at(0).digest; }

inline std::vector<Diagnostic> errors_of(const std::string& text,
                                         const std::vector<std::string>& overrides = {}) {
  try {
    compile_recipe("test.toml", text, overrides);
  } catch (const RecipeError& error) {
    return error.diagnostics();
  }
  return {};
}

/// The message of the completed recipe's first error; empty if it has none.
inline std::string first_error_of(const std::string& recipe) {
  const std::vector<Diagnostic> errors = errors_of(completed(recipe));
  return errors.empty() ? "" : errors[0].message;
}

/// Requires that the completed recipe has only this error.
inline Diagnostic only_error_of(const std::string& recipe) {
  INFO(recipe);
  const std::vector<Diagnostic> errors = errors_of(completed(recipe));
  REQUIRE(errors.size() == 1);
  return errors[0];
}
/// The same, on that line.
inline Diagnostic only_error_of(const std::string& recipe, int line) {
  const Diagnostic error = only_error_of(recipe);
  INFO(recipe);
  CHECK(error.line == line);
  return error;
}
/// The same, with this in its message and that in its remedy, which every error has.
inline void check_only_error(const std::string& recipe, int line, const std::string& message,
                             const std::string& remedy = {}) {
  const Diagnostic error = only_error_of(recipe, line);
  INFO(recipe);
  CHECK_THAT(error.message, ContainsSubstring(message));
  CHECK_FALSE(error.remedy.empty());
  CHECK_THAT(error.remedy, ContainsSubstring(remedy));
}

/// Requires that the completed recipe has no error and only this warning.
inline Diagnostic only_warning_of(const std::string& recipe) {
  INFO(recipe);
  const std::vector<Diagnostic> warnings = compiled(recipe).warnings;
  REQUIRE(warnings.size() == 1);
  return warnings[0];
}

}  // namespace acid::test
