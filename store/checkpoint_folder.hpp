#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

// The files under checkpoints/ in a store's folder, for its maintenance. Paths come from rows,
// which may have been altered, and deleting the wrong file cannot be undone. So nothing here leaves
// checkpoints/ or goes through a symbolic link, not even through a link that appears meanwhile. Any
// thread.

/// Whether `path`, relative to the store's folder, could be a file under checkpoints/:
/// "checkpoints/" and plain names, without "." and "..".
bool is_checkpoint_path(std::string_view path);

/// The name after "checkpoints/", which for acid's own files is the run's id.
std::string run_folder_of(std::string_view path);

struct FileLook {
  enum class Is {
    plain,
    missing,
    foreign,     // a symbolic link, also on the way there, or a kind of file that acid never makes
    unreadable,  // see `reason`
  };
  Is is = Is::missing;
  std::int64_t bytes = 0;
  double age_seconds = 0;  // since it was written
  std::string reason;
};
/// `path` is a checkpoint path.
FileLook look_at_file(const std::string& folder, const std::string& path);

/// SHA-256 of a plain file. Throws StoreError with the system's reason.
std::string digest_of_file(const std::string& folder, const std::string& path);

/// Removes a plain file, and the folders below checkpoints/ that this leaves empty. False when
/// there is no such file any more. Throws StoreError with the system's reason, or when the file is
/// not plain.
bool remove_file(const std::string& folder, const std::string& path);

struct ListedFile {
  std::string path;  // relative to the store's folder
  FileLook look;
};
/// Lists everything under checkpoints/ that is not a folder, by path. When checkpoints is itself a
/// link, the list has only the link; a folder that cannot be read is listed as unreadable.
std::vector<ListedFile> list_checkpoint_folder(const std::string& folder);

}  // namespace acid
