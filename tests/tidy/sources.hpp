#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

/// The sources of the project, as the tidy tests read them.
namespace tidy {

namespace fs = std::filesystem;
using Prefixes = std::vector<std::string>;

struct Source {
  std::string path;  // from the root of the project
  std::vector<std::string> lines;
};

inline std::vector<Source> read_sources() {
  std::vector<Source> sources;
  for (const char* top : {"bench", "cli", "engine", "exports", "recipes", "reports", "settings",
                          "store", "tests", "worker"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(SOURCE_ROOT) / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".hpp" && extension != ".cpp" && extension != ".cu" && extension != ".inc")
        continue;
      Source source{fs::relative(entry.path(), SOURCE_ROOT).generic_string(), {}};
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) source.lines.push_back(line);
      sources.push_back(std::move(source));
    }
  return sources;
}

inline const std::vector<Source>& sources() {
  static const std::vector<Source> all = read_sources();
  return all;
}

inline bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

inline bool starts_with_any(const std::string& text, const Prefixes& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return starts_with(text, prefix); });
}

}  // namespace tidy
