#pragma once

#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/base/error.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "tests/catch.hpp"

namespace acid::testing {

/// A folder that is removed with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "acid-data-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string root() const { return path_.string(); }

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  void write_gzip(const std::string& name, const std::string& content) const {
    const gzFile file = gzopen(path(name).c_str(), "wb");
    REQUIRE(gzwrite(file, content.data(), static_cast<unsigned>(content.size())) ==
            static_cast<int>(content.size()));
    REQUIRE(gzclose(file) == Z_OK);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

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
