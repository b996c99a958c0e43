#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "exports/text.hpp"

namespace acid {

/// Whether StagedFolder takes a path: names of ASCII letters, digits, '.', '_' and '-', none of
/// which begins with '.', so that it cannot lead out of a folder.
bool is_plain_path(const std::string& path);

struct StagedFile {
  std::uintmax_t bytes = 0;
  std::string sha256;
};

/// A folder that is made beside the place where it, or an archive of it, will appear: whole or not
/// at all. Every failure is an Error naming the path; without a commit nothing is left behind,
/// unless the process is killed. One thread.
class StagedFolder {
 public:
  /// UsageError unless `target` does not exist or is an empty folder: nothing is overwritten.
  explicit StagedFolder(const std::string& target);
  ~StagedFolder();
  StagedFolder(const StagedFolder&) = delete;
  StagedFolder& operator=(const StagedFolder&) = delete;

  /// Adds a file at a path within. StoreError unless is_plain_path(): names come from a store, and
  /// none may lead out of the folder.
  void add(const std::string& path, std::string_view content);
  /// Adds a file with the content that `fill` writes piece by piece.
  void add(const std::string& path, const std::function<void(const Write&)>& fill);
  /// The place where `path` will be, for other code that writes files there; its folders exist.
  std::string place_of(const std::string& path);
  /// Registers every file below `path` that was put there.
  void adopt(const std::string& path);

  /// The files so far, by path.
  const std::map<std::string, StagedFile>& files() const { return files_; }

  /// Gives the folder its name. Call one of the two commits, once.
  void commit_folder();
  /// Makes a ZIP archive of the registered files only.
  void commit_zip();

 private:
  std::string target_;   // without a slash at its end
  std::string staging_;  // its sibling
  std::map<std::string, StagedFile> files_;
};

}  // namespace acid
