#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace acid {

/// What is at the path, links followed. Throws UsageError where that cannot be known, as in a
/// folder that may not be searched.
std::filesystem::file_type type_of_file(const std::string& path);

/// A regular file that is open for reading. Other kinds are refused: opening a pipe could wait for
/// ever, and a device need not end. Reading is for one thread.
class RegularFile {
 public:
  /// Throws UsageError with a hint when there is no such file or it is of another kind.
  explicit RegularFile(const std::string& path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  std::int64_t bytes() const { return bytes_; }  // when it was opened
  int descriptor() const { return descriptor_; }
  /// The next bytes, as many as fit; 0: the end. Throws Error.
  std::size_t read(std::span<std::byte> out) const;

 private:
  const std::string path_;
  int descriptor_ = -1;
  std::int64_t bytes_ = 0;
};

}  // namespace acid
