#pragma once

#include <string>

namespace acid::bench {

/// An empty folder for temporary files ($TMPDIR, else /tmp), removed with everything in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// The path of the folder, or of something in it.
  std::string path(const std::string& name = {}) const;

 private:
  std::string path_;
};

}  // namespace acid::bench
