#pragma once

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/error.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "tests/catch.hpp"
#include "tests/scratch.hpp"

namespace acid::testing {

using test::ScratchFolder;

inline void write_gzip(const ScratchFolder& folder, const std::string& name,
                       const std::string& content) {
  const gzFile file = gzopen(folder.path(name).c_str(), "wb");
  REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) ==
          static_cast<int>(content.size()));
  REQUIRE(gzclose(file) == Z_OK);
}

/// The message of the call's Error; fails the test when it throws none.
template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  FAIL("expected an error");
  return {};
}

inline const DatasetEntry& dataset(const std::string& name) {
  const DatasetEntry* entry = find_dataset(name);
  REQUIRE(entry != nullptr);
  return *entry;
}

inline nlohmann::json options_of(const DatasetEntry& entry, const nlohmann::json& given) {
  return with_fallbacks(entry.fields, given);
}

inline Dataset load(const std::string& name, const nlohmann::json& given) {
  return dataset(name).load(options_of(dataset(name), given));
}

inline std::vector<float> features(const Split& split, std::int64_t example, std::int64_t size) {
  std::vector<float> out(static_cast<std::size_t>(size));
  split.copy_features(example, out);
  return out;
}

}  // namespace acid::testing
