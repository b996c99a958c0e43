#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace acid::bench {

/// The file of results. An existing file stays until it is replaced by a whole new one, so that
/// neither an interruption nor a full disk leaves half a file.
class JsonFile {
 public:
  /// Throws Error when nothing can be written there. Empty or "-": no file, and write() does
  /// nothing.
  explicit JsonFile(const std::string& path);
  /// Throws Error; the existing file then stays.
  void write(const nlohmann::json& content) const;

 private:
  std::string path_;  // symbolic links followed; empty: no file
  std::string new_;   // replaces it; a device or pipe is written directly
};

}  // namespace acid::bench
