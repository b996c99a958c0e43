#include <algorithm>
#include <array>

#include "engine/models/layout.hpp"
#include "engine/models/network.hpp"

namespace acid {

#define MODEL(name) ModelEntry name##_model();
#include "engine/models/catalog.inc"
#undef MODEL

std::span<const ModelEntry> model_catalog() {
  static const auto catalog = std::to_array<ModelEntry>({
#define MODEL(name) name##_model(),
#include "engine/models/catalog.inc"
#undef MODEL
  });
  return catalog;
}

const ModelEntry* find_model(std::string_view name) {
  const std::span<const ModelEntry> catalog = model_catalog();
  const auto found = std::ranges::find(catalog, name, &ModelEntry::name);
  return found == catalog.end() ? nullptr : &*found;
}

Layout ModelEntry::layout(const nlohmann::json& options, const DataShape& shape) const {
  return describe == nullptr ? build(options, shape).layout : describe(options).layout;
}

}  // namespace acid
