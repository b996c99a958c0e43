#pragma once

#include <string>

#include "engine/base/descriptor.hpp"

namespace acid {

/// An advisory lock on a store's folder among acid's own processes, let go when its holder dies. It
/// covers what SQLite's locks do not: only one process creates the store, and at most one
/// checkpoints the write-ahead log at a time. Where the file system has no such locks, every
/// attempt succeeds.
class FolderLock {
 public:
  enum class Wait { yes, no };
  FolderLock(const std::string& folder, Wait wait);

  bool held() const { return held_; }

 private:
  Descriptor descriptor_;
  bool held_ = true;
};

}  // namespace acid
