#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace acid::bench {

/// Where results are kept. A file of that name stays as it is until it is replaced by a whole new
/// one, so that neither an interruption nor a full disk leaves half of one.
class JsonFile {
 public:
  /// Throws Error when nothing can be written there. Empty or "-": no file, and write() does
  /// nothing.
  explicit JsonFile(const std::string& path);
  /// Throws Error; the file is as it was then.
  void write(const nlohmann::json& content) const;

 private:
  std::string path_;  // symbolic links followed; empty: no file
  std::string new_;   // what replaces it; a device or pipe is written to as it is
};

}  // namespace acid::bench
