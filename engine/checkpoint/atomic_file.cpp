#include "engine/checkpoint/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporary_(fmt::format("{}.{}.tmp", path_, ::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  const std::string reason = std::strerror(errno);
  throw StoreError(fmt::format("cannot {} {}: {}; free space or check permissions, then run again",
                               what, temporary_, reason));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  digest_.update(bytes);
  bytes_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

AtomicFile::Written AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail("fsync");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("rename");
  ::close(std::exchange(descriptor_, -1));
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int parent = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY);
  if (parent >= 0) {  // Some file systems refuse to sync a folder; the rename stands regardless.
    ::fsync(parent);
    ::close(parent);
  }
  return {digest_.hex(), bytes_};
}

}  // namespace acid
