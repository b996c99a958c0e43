#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "worker/resume.hpp"

namespace acid {

/// A sentence for each of these files whose content differs from the plan of the run, which its id
/// includes. Plans of older runs have no files; then none is returned.
std::vector<std::string> other_than_planned(const RunDetail& run, const FileDigests& files);

/// Watches the files that a run reads while it goes on. Looks at size, times and inode; reads
/// content again only where one of these has changed. One thread at a time.
class WatchedFiles {
 public:
  /// `files`: the digests of the files as the run read them, from `since` on. Files that may have
  /// changed since then are looked into by the next refuse_changed().
  WatchedFiles(const FileDigests& files, std::time_t since);
  /// Throws Error that names a file whose content has changed.
  void refuse_changed();

 private:
  struct Watched {
    std::string path, sha256;
    std::string look;  // its size, times and inode; empty: its content is not known to be that
  };

  std::vector<Watched> files_;
};

}  // namespace acid
