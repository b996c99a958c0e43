#pragma once

#include <regex.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
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

/// A POSIX extended regular expression; \b and \w are the C library's extensions. std::regex takes
/// several times as long to read the sources.
class Pattern {
 public:
  explicit Pattern(const std::string& text) {
    if (regcomp(compiled_.get(), text.c_str(), REG_EXTENDED) != 0)
      throw std::invalid_argument("not a regular expression: " + text);
  }

  bool is_in(const std::string& line) const {
    return regexec(compiled_.get(), line.c_str(), 0, nullptr, 0) == 0;
  }

  /// What the first brackets hold in the first match; empty without a match.
  std::string captured_in(const std::string& line) const {
    regmatch_t match[2];
    if (regexec(compiled_.get(), line.c_str(), 2, match, 0) != 0) return {};
    return {line, static_cast<std::size_t>(match[1].rm_so),
            static_cast<std::size_t>(match[1].rm_eo - match[1].rm_so)};
  }

 private:
  struct Free {
    void operator()(regex_t* compiled) const {
      regfree(compiled);
      delete compiled;
    }
  };
  std::unique_ptr<regex_t, Free> compiled_{new regex_t{}};
};

}  // namespace tidy
