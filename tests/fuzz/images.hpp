#pragma once

#include <nlohmann/json.hpp>

#include "engine/data/dataset.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {

/// Plans with a data set and loads it. If it loads, its sizes must be the planned ones, and its
/// examples can be copied.
inline void inspect_and_load(const DatasetEntry& entry, const nlohmann::json& options) {
  DataInfo info;
  const bool planned = accepted([&] { info = entry.inspect(options); });
  Dataset data;
  if (!accepted([&] { data = entry.load(options); })) return;
  ACID_ASSERT(planned, "{} was refused but loads", entry.name);
  ACID_ASSERT(data.train->size() == info.train_size && data.test->size() == info.test_size,
              "{} and {} examples, planned {} and {}", data.train->size(), data.test->size(),
              info.train_size, info.test_size);
  ACID_ASSERT(data.shape.features() == info.shape.features(), "{} features", data.shape.features());
  std::vector<float> features(static_cast<std::size_t>(data.shape.features()));
  for (const Split* split : {data.train.get(), data.test.get()})
    for (std::int64_t k = 0; k < std::min<std::int64_t>(split->size(), 16); ++k) {
      const std::int64_t example = k % 2 == 0 ? k : split->size() - k;
      ACID_ASSERT(split->label(example) >= 0 && split->label(example) < data.shape.classes,
                  "label {}", split->label(example));
      split->copy_features(example, features);
    }
}

}  // namespace acid::fuzz
