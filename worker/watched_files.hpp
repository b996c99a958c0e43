#pragma once

#include <string>
#include <vector>

#include "worker/resume.hpp"

namespace acid {

/// Which of these files hold something else than the plan of the run says, whose id stands for it;
/// a sentence each. Of runs that were asked for before plans had files nothing is known.
std::vector<std::string> other_than_planned(const RunDetail& run, const FileDigests& files);

/// The files that a run reads, while it goes on. Looks at size, times and inode; content is read
/// again only where one of these has changed. One thread at a time.
class WatchedFiles {
 public:
  /// `files`: as they were read.
  explicit WatchedFiles(const FileDigests& files);
  /// Throws Error that names a file whose content is another than it was.
  void refuse_changed();

 private:
  struct Watched {
    std::string path, sha256;
    std::string look;  // its size, times and inode
  };

  std::vector<Watched> files_;
};

}  // namespace acid
