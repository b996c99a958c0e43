#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/base/digest.hpp"
#include "engine/base/folders.hpp"

namespace acid {

/// A file that appears whole or not at all: written beside its final name, fsynced, closed, then
/// renamed, then the folder is fsynced. Without commit(), or when it fails, what was there before
/// stays and the destructor removes what was written; only when the last step, the folder's fsync,
/// fails is the new file there already, whole, though a power loss may take it back.
///
/// Several may write to one name at a time, in any processes: the last commit() stays. Every
/// failure is a StoreError that names the file and the system's reason. Not thread-safe.
class AtomicFile {
 public:
  /// Creates `path`.PID.tmp (or the next name of the kind that is free).
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Buffered: small pieces cost no system call each. A failure may show only at a later call.
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
