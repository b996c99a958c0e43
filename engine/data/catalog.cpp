#include <array>

#include "engine/base/names.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"

namespace acid {

#define DATASET(stem) DatasetEntry dataset_##stem();
#define ANALYTIC(stem) AnalyticEntry analytic_##stem();
#include "engine/data/catalog.inc"

std::span<const DatasetEntry> dataset_catalog() {
  static const auto catalog = std::to_array<DatasetEntry>({
#define DATASET(stem) dataset_##stem(),
#include "engine/data/catalog.inc"
  });
  return catalog;
}

std::span<const AnalyticEntry> analytic_catalog() {
  static const auto catalog = std::to_array<AnalyticEntry>({
#define ANALYTIC(stem) analytic_##stem(),
#include "engine/data/catalog.inc"
  });
  return catalog;
}

const DatasetEntry* find_dataset(std::string_view name) {
  return find_named(dataset_catalog(), name);
}

const AnalyticEntry* find_analytic(std::string_view name) {
  return find_named(analytic_catalog(), name);
}

}  // namespace acid
