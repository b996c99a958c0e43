#pragma once

#include <string>

#include "store/store.hpp"

namespace acid {

// The files that rows name: checkpoints and models. Rows may have been altered, so a path is
// checked before it is used. Any thread.

/// The path of the file that a row of a checkpoint or model names, whether the file exists or not.
/// Throws StoreError when the path is not "checkpoints/" and plain names after it.
std::string checked_path(const Store& store, const std::string& relative);

/// Makes the folder of a run's files, "checkpoints/RUN", where it is missing. Throws StoreError
/// where it or the folder above is a symbolic link: files written there would land elsewhere.
void make_run_folder(const std::string& store_folder, const std::string& run_id);

/// The error for a file at `path` that is not the recorded one.
StoreError damaged_file(const std::string& path, const std::string& recorded_sha256);

/// Removes the file of a checkpoint that was let go of, and the folders below checkpoints/ that
/// this leaves empty. Does nothing when the file is gone already. Throws StoreError when the path
/// is not a checkpoint path, leads through a symbolic link or to anything but a plain file, or with
/// the system's reason.
void remove_checkpoint_file(const std::string& store_folder, const std::string& relative);

}  // namespace acid
