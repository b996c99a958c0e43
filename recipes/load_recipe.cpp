#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <sstream>

#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "recipes/compiler.hpp"
#include "recipes/parse.hpp"

namespace acid {
namespace {

// Later overrides win over earlier ones. Returns whether all could be parsed.
void apply_overrides(Node& root, const std::vector<std::string>& overrides, Diagnostics& out) {
  for (std::size_t i = 0; i < overrides.size(); ++i)
    if (auto override = parse_override(overrides[i], static_cast<int>(i), out)) {
      const Place key = override->value.key_place;
      if (auto problem =
              assign(root, override->key, std::move(override->value), Origin::override_text))
        out.error(key, std::move(*problem));
    }
}

std::string recipe_digest(const std::string& text, const std::vector<std::string>& overrides) {
  nlohmann::json whole = {text, overrides};
  return sha256_hex(whole.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

/// A recipe whose claims are in a file of their own, and that file, as one text.
struct JoinedText {
  std::string text;
  std::string claims_file;
  int lines = 0;  // of the recipe
};

/// The claims of a file. Nothing else may be in it: it would become a part of the recipe's last
/// table.
std::string claims_text(const std::string& file) {
  const std::string text = recipe_text(file, "file of claims");
  Diagnostics diagnostics(file, text, {});
  if (const auto root = parse_recipe(text, diagnostics)) {
    for (const Node& child : root->children)
      if (child.key != "claims" || !child.is_list())
        diagnostics.error(child.key_place,
                          fmt::format("'{}' stands in a file of claims", child.key),
                          "such a file has [[claims]] and nothing else: write this in the recipe");
  }
  if (diagnostics.has_errors()) throw RecipeError(diagnostics.errors());
  return std::string(without_byte_order_mark(text));
}

/// `claims`: the key that names the file.
JoinedText with_claims(const std::string& path, const std::string& text, const Node& claims) {
  const std::filesystem::path named = claims.text();
  const std::string file = (std::filesystem::path(path).parent_path() / named).string();
  const std::string added = claims_text(file);
  std::vector<std::string> lines;
  for (std::istringstream in(text); in && !in.eof();) std::getline(in, lines.emplace_back());
  lines.at(static_cast<std::size_t>(claims.place.line) - 1) =
      fmt::format("# The claims of {} stand at the end.", named.string());
  if (lines.back().empty()) lines.pop_back();
  lines.emplace_back();
  return {fmt::format("{}\n{}", fmt::join(lines, "\n"), added), file,
          static_cast<int>(lines.size())};
}

}  // namespace

Plan compile_recipe(const std::string& path, const std::string& text,
                    const std::vector<std::string>& overrides, const OverAxis* over) {
  Diagnostics diagnostics(path, text, overrides);
  auto root = parse_recipe(text, diagnostics);
  std::string recipe_text = text;
  if (const Node* claims = root ? root->find("claims") : nullptr; claims && claims->is_text()) {
    JoinedText joined = with_claims(path, text, *claims);
    recipe_text = std::move(joined.text);
    diagnostics = Diagnostics(path, recipe_text, overrides);
    diagnostics.continues_with(joined.claims_file, joined.lines);
    root = parse_recipe(recipe_text, diagnostics);
  }
  Plan plan{.name = std::filesystem::path(path).stem().string(),
            .recipe_path = path,
            .recipe_text = recipe_text,
            .recipe_digest = recipe_digest(recipe_text, overrides),
            .overrides = overrides};
  if (root) {
    apply_overrides(*root, overrides, diagnostics);
    Compiler(path, over, diagnostics).compile(*root, plan);
  }
  if (diagnostics.has_errors()) throw RecipeError(diagnostics.errors());
  plan.warnings = diagnostics.warnings();
  if (const Node* const claims = root->find("claims"))
    for (const Node& claim : claims->children)
      if (const Node* name = claim.find("name"), *formula = claim.find("formula");
          name && formula && name->is_text())
        plan.formulas.emplace(name->text(),
                              diagnostics.locate({.place = formula->place, .problem = {}}));
  return plan;
}

Plan load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                 const std::string& copy_of, const OverAxis* over) {
  return compile_recipe(copy_of.empty() ? path : copy_of, recipe_text(path), overrides, over);
}

}  // namespace acid
