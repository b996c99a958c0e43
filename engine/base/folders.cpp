#include "engine/base/folders.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/system_call.hpp"

namespace acid {
namespace {

/// False: errno says why it is not a folder.
bool is_folder(const std::string& path) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return false;
  if (!S_ISDIR(facts.st_mode)) errno = ENOTDIR;
  return S_ISDIR(facts.st_mode);
}

}  // namespace

std::filesystem::path existing_part(const std::string& path) {
  std::error_code ignored;
  std::filesystem::path there = std::filesystem::absolute(path);
  while (!std::filesystem::exists(there, ignored) && there.has_relative_path())
    there = there.parent_path();
  return there;
}

void create_folders(const std::string& path) {
  if (path.empty() || is_folder(path)) return;
  if (errno != ENOENT) fail_to("look at", path);
  create_folders(std::filesystem::path(path).parent_path().string());
  create_folder(path);
}

void create_folder(const std::string& path) {
  if (is_folder(path)) return;
  // Another process may have made it meanwhile.
  if (::mkdir(path.c_str(), 0777) != 0 && (errno != EEXIST || !is_folder(path)))
    fail_to("create", path);
  sync_folder(std::filesystem::path(path).parent_path().string());
}

// Some file systems have no fsync of a folder, and a folder that may be written need not be
// readable: then nothing more can be done.
void sync_folder(const std::string& named) {
  const std::string folder = named.empty() ? "." : named;
  const int opened =
      uninterrupted([&] { return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (opened < 0) {
    if (errno == EACCES) return;
    fail_to("open", folder);
  }
  const bool synced = uninterrupted([&] { return ::fsync(opened); }) == 0 || errno == EINVAL ||
                      errno == ENOTSUP || errno == ENOSYS;
  const int reason = errno;
  ::close(opened);
  errno = reason;
  if (!synced) fail_to("fsync", folder);
}

}  // namespace acid
