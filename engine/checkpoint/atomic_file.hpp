#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/base/digest.hpp"
#include "engine/base/folders.hpp"

namespace acid {

/// A file that appears whole or not at all: it is written beside its final name, fsynced, closed,
/// renamed, then the folder is fsynced. Without commit(), or when commit() fails, the earlier file
/// stays and the destructor removes what was written. There is one exception: when the folder's
/// fsync fails, the new file is there already, whole, though a power loss may take it back.
///
/// Several processes may write to one name at a time: the last commit() stays. Every failure is a
/// StoreError that names the file and the system's reason. Not thread-safe.
class AtomicFile {
 public:
  /// Creates `path`.PID.tmp, or the next such name that is free.
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Buffered: small pieces cost no system call each. A failure may be reported only by a later
  /// call.
  void write(std::span<const std::byte> bytes);
  struct Written {
    std::string sha256;
    std::int64_t bytes = 0;
  };
  /// Durable when it returns. Call once, last.
  Written commit();

 private:
  void write_through(std::span<const std::byte> bytes);

  static constexpr std::size_t kBuffer = 1 << 20;

  std::string path_, temporary_;
  int descriptor_ = -1;  // open from construction until commit()
  bool temporary_exists_ = false;
  std::vector<std::byte> pending_;
  Sha256 digest_;
  std::int64_t bytes_ = 0;
};

}  // namespace acid
