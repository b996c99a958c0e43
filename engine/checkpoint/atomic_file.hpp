#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/base/digest.hpp"

namespace acid {

/// A file that appears whole or not at all: written beside its final name, fsynced, then renamed,
/// then the folder is fsynced. Without commit() the destructor removes what was written.
/// Every failure is an Error that names the file and the system's reason.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  struct Written {
    std::string sha256;
    std::int64_t bytes = 0;
  };
  Written commit();

 private:
  [[noreturn]] void fail(const char* what) const;

  std::string path_, temporary_;
  int descriptor_ = -1;
  Sha256 digest_;
  std::int64_t bytes_ = 0;
};

}  // namespace acid
