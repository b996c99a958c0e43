#include "store/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

#include "engine/base/descriptor.hpp"
#include "engine/base/digest.hpp"
#include "engine/base/folders.hpp"
#include "store/existing_store.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFolder = "checkpoints";

/// Opens the folder that holds `path`, and returns it with the file's name in it. Each step starts
/// from the folder before it and refuses links. A negative descriptor: errno says why.
std::pair<Descriptor, std::string> open_parent(const std::string& folder, std::string_view path) {
  ACID_ASSERT(is_checkpoint_path(path), "'{}' is not a path under checkpoints/", path);
  constexpr int kFolderOnly = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  Descriptor at(open(folder.c_str(), kFolderOnly));  // The store itself may be a link.
  while (at) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) break;
    const std::string name(path.substr(0, slash));
    at = Descriptor(openat(at.get(), name.c_str(), kFolderOnly | O_NOFOLLOW));
    path.remove_prefix(slash + 1);
  }
  return {std::move(at), std::string(path)};
}

FileLook look_that_failed(int error) {
  FileLook look;
  if (error == ENOENT) return look;
  look.is = error == ENOTDIR || error == ELOOP ? FileLook::Is::foreign : FileLook::Is::unreadable;
  look.reason = std::strerror(error);
  return look;
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Looks at what open_parent() returned. Call it straight after, since it reads errno.
FileLook look_in(const Descriptor& parent, const std::string& name) {
  struct stat facts {};
  if (!parent || fstatat(parent.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0)
    return look_that_failed(errno);
  FileLook look;
  look.is = S_ISREG(facts.st_mode) ? FileLook::Is::plain : FileLook::Is::foreign;
  look.bytes = facts.st_size;
  look.age_seconds = now_seconds() - static_cast<double>(facts.st_mtim.tv_sec) -
                     1e-9 * static_cast<double>(facts.st_mtim.tv_nsec);
  return look;
}

[[noreturn]] void fail(const char* what, const std::string& folder, const std::string& path,
                       const std::string& reason) {
  throw StoreError(
      fmt::format("cannot {} {}/{}: {}; check its permissions and the disk, then try "
                  "again",
                  what, folder, path, reason));
}

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
  const fs::path above = fs::path(store_folder) / kFolder, own = above / run_id;
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

bool is_checkpoint_path(std::string_view path) {
  if (path.substr(0, kFolder.size() + 1) != std::string(kFolder) + "/") return false;
  if (path.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (name.empty() || name == "." || name == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::string store_that_keeps(const fs::path& file) {
  for (fs::path folder = file.parent_path();; folder = folder.parent_path()) {
    const std::string name = file.lexically_relative(folder).string();
    if ((is_checkpoint_path(name) || name.starts_with("store.db")) && store_exists(folder.string()))
      return folder.string();
    if (folder == folder.parent_path()) return {};
  }
}

std::string run_folder_of(std::string_view path) {
  path.remove_prefix(std::min(path.size(), kFolder.size() + 1));
  return std::string(path.substr(0, path.find('/')));
}

FileLook look_at_file(const std::string& folder, const std::string& path) {
  const auto [parent, name] = open_parent(folder, path);
  return look_in(parent, name);
}

std::string digest_of_file(const std::string& folder, const std::string& path) {
  const auto [parent, name] = open_parent(folder, path);
  if (!parent) fail("read", folder, path, std::strerror(errno));
  // O_NONBLOCK: by now the name may be that of a pipe.
  const Descriptor file(
      openat(parent.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file) fail("read", folder, path, std::strerror(errno));
  Sha256 digest;
  std::vector<std::byte> buffer(1 << 20);
  for (;;) {
    const ssize_t bytes =
        uninterrupted([&] { return read(file.get(), buffer.data(), buffer.size()); });
    if (bytes < 0) fail("read", folder, path, std::strerror(errno));
    if (bytes == 0) return digest.hex();
    digest.update(std::span(buffer).first(static_cast<std::size_t>(bytes)));
  }
}

bool remove_file(const std::string& folder, const std::string& path) {
  refuse_other_paths(folder, path);
  const auto [parent, name] = open_parent(folder, path);
  const FileLook look = look_in(parent, name);
  if (look.is == FileLook::Is::foreign) fail("remove", folder, path, "it is not a plain file");
  if (look.is == FileLook::Is::unreadable) fail("remove", folder, path, look.reason);
  if (look.is == FileLook::Is::missing) return false;
  if (unlinkat(parent.get(), name.c_str(), 0) != 0) {
    if (errno == ENOENT) return false;
    fail("remove", folder, path, std::strerror(errno));
  }
  // Goes upwards until a folder is not empty.
  for (std::string above = path;;) {
    above.resize(above.rfind('/'));
    if (!is_checkpoint_path(above)) break;
    const auto [outer, inner] = open_parent(folder, above);
    if (!outer || unlinkat(outer.get(), inner.c_str(), AT_REMOVEDIR) != 0) break;
  }
  return true;
}

std::vector<ListedFile> list_checkpoint_folder(const std::string& folder) {
  const fs::path top = fs::path(folder) / kFolder;
  std::error_code error;
  const fs::file_type type = fs::symlink_status(top, error).type();
  if (type == fs::file_type::not_found) return {};
  if (type != fs::file_type::directory)
    return {{std::string(kFolder), {FileLook::Is::foreign, 0, 0, ""}}};
  std::vector<ListedFile> files;
  std::vector<std::string> open_folders{std::string(kFolder)};
  while (!open_folders.empty()) {
    const std::string at = std::move(open_folders.back());
    open_folders.pop_back();
    error.clear();
    for (fs::directory_iterator entry(fs::path(folder) / at, error), end; entry != end && !error;
         entry.increment(error)) {
      const std::string path = at + "/" + entry->path().filename().string();
      std::error_code vanished;
      if (entry->symlink_status(vanished).type() == fs::file_type::directory)
        open_folders.push_back(path);
      else if (FileLook look = look_at_file(folder, path); look.is != FileLook::Is::missing)
        files.push_back({path, std::move(look)});
    }
    if (error && error != std::errc::no_such_file_or_directory)
      files.push_back({at, {FileLook::Is::unreadable, 0, 0, error.message()}});
  }
  std::sort(files.begin(), files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace acid
