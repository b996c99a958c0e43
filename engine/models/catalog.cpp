#include <array>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
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

const ModelEntry* find_model(std::string_view name) { return find_named(model_catalog(), name); }

Layout ModelEntry::layout(const nlohmann::json& options, const DataShape& shape) const {
  if (describe == nullptr && tokens != shape.tokens)
    throw UsageError(
        tokens ? fmt::format("model '{}' reads sequences of tokens, but the data set's examples "
                             "are {} x {} x {} numbers each; use a data set of tokens, such as "
                             "'text', or another model",
                             name, shape.channels, shape.height, shape.width)
               : fmt::format("model '{}' reads numbers, but the data set's examples are sequences "
                             "of tokens; use 'transformer-lm'",
                             name));
  if (read != nullptr) return read(options, shape).layout;
  return describe == nullptr ? build(options, shape).layout : describe(options).layout;
}

}  // namespace acid
