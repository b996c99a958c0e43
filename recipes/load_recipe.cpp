#include <filesystem>

#include "engine/base/digest.hpp"
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

}  // namespace

Plan compile_recipe(const std::string& path, const std::string& recipe_text,
                    const std::vector<std::string>& overrides, const OverAxis* over) {
  Diagnostics diagnostics(path, recipe_text, overrides);
  Plan plan{.name = std::filesystem::path(path).stem().string(),
            .recipe_path = path,
            .recipe_text = recipe_text,
            .recipe_digest = recipe_digest(recipe_text, overrides),
            .overrides = overrides,
            .runs = {},
            .search = {},
            .comparison = {},
            .left_out = {},
            .warnings = {}};
  if (auto root = parse_recipe(recipe_text, diagnostics)) {
    apply_overrides(*root, overrides, diagnostics);
    Compiler(path, over, diagnostics).compile(*root, plan);
  }
  if (diagnostics.has_errors()) throw RecipeError(diagnostics.errors());
  plan.warnings = diagnostics.warnings();
  return plan;
}

Plan load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                 const std::string& copy_of, const OverAxis* over) {
  return compile_recipe(copy_of.empty() ? path : copy_of, recipe_text(path), overrides, over);
}

}  // namespace acid
