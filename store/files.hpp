#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"

namespace acid {

// The files that rows name, checkpoints and models, and all others under checkpoints/ in a store's
// folder. Rows may have been altered, and deleting the wrong file cannot be undone. So a path is
// checked before it is used, and nothing that looks, reads or deletes here leaves checkpoints/ or
// goes through a symbolic link, not even through a link that appears meanwhile. Any thread.

/// The path of the file that a row of a checkpoint or model names, whether the file exists or not.
/// Throws StoreError when the path is not "checkpoints/" and plain names after it.
std::string checked_path(const Store& store, const std::string& relative);

/// Makes the folder of a run's files, "checkpoints/RUN", where it is missing. Throws StoreError
/// where it or the folder above is a symbolic link: files written there would land elsewhere.
void make_run_folder(const std::string& store_folder, const std::string& run_id);

/// The error for a file at `path` that is not the recorded one.
StoreError damaged_file(const std::string& path, const std::string& recorded_sha256);

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
/// there is no such file any more. Throws StoreError when the path is not a checkpoint path, leads
/// through a symbolic link or to anything but a plain file, or with the system's reason.
bool remove_file(const std::string& folder, const std::string& path);

struct ListedFile {
  std::string path;  // relative to the store's folder
  FileLook look;
};
/// Lists everything under checkpoints/ that is not a folder, by path. When checkpoints is itself a
/// link, the list has only the link; a folder that cannot be read is listed as unreadable.
std::vector<ListedFile> list_checkpoint_folder(const std::string& folder);

}  // namespace acid
