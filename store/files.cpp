#include "store/files.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "engine/base/folders.hpp"
#include "store/checkpoint_folder.hpp"

namespace acid {
namespace {

void refuse_other_paths(const std::string& store_folder, const std::string& relative) {
  if (!is_checkpoint_path(relative))
    throw StoreError(fmt::format(
        "the store {} names the file '{}', which is not a path under checkpoints/: "
        "the database was altered outside acid; 'acid doctor --store {}' looks for more",
        store_folder, relative, store_folder));
}

}  // namespace

std::string checked_path(const Store& store, const std::string& relative) {
  refuse_other_paths(store.folder(), relative);
  return store.folder() + "/" + relative;
}

void make_run_folder(const std::string& store_folder, const std::string& run_id) {
  namespace fs = std::filesystem;
  const fs::path above = fs::path(store_folder) / "checkpoints", own = above / run_id;
  for (const fs::path& folder : {above, own}) {
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(folder, ignored)))
      throw StoreError(fmt::format(
          "{} is a symbolic link, through which nothing is written: put a folder in its place, or "
          "move the whole store to where there is room and name it with --store",
          folder.string()));
  }
  // The store's own folders must be there: it may be moved in this moment.
  create_folder(own.string());
}

StoreError damaged_file(const std::string& path, const std::string& recorded_sha256) {
  return StoreError(
      fmt::format("{} is damaged: its SHA-256 is not the recorded {}; run the recipe again with "
                  "--force",
                  path, recorded_sha256));
}

void remove_checkpoint_file(const std::string& store_folder, const std::string& relative) {
  refuse_other_paths(store_folder, relative);
  remove_file(store_folder, relative);
}

}  // namespace acid
