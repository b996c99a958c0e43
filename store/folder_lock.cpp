#include "store/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>

namespace acid {

// The lock is on the folder itself, so no file is added. (Never open store.db for this: closing it
// again would drop SQLite's own locks on it.)
FolderLock::FolderLock(const std::string& folder, Wait wait)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!descriptor_) return;
  const int how = wait == Wait::yes ? LOCK_EX : LOCK_EX | LOCK_NB;
  const int code = uninterrupted([&] { return flock(descriptor_.get(), how); });
  held_ = code == 0 || errno != EWOULDBLOCK;
}

}  // namespace acid
