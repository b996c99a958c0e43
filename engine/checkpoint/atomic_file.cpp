#include "engine/checkpoint/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "engine/base/folders.hpp"
#include "engine/base/system_call.hpp"

namespace acid {
namespace {

std::string temporary_name(const std::string& path, int number) {
  const std::string name = fmt::format("{}.{}", path, ::getpid());
  return number == 0 ? name + ".tmp" : fmt::format("{}.{}.tmp", name, number);
}

}  // namespace

// O_EXCL: process numbers repeat, in containers and on other machines that share the folder, so
// another process may be writing a file of this name now.
AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  constexpr int kMostNames = 1000;
  for (int number = 0; descriptor_ < 0; ++number) {
    temporary_ = temporary_name(path_, number);
    descriptor_ = uninterrupted(
        [&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644); });
    if (descriptor_ < 0 && (errno != EEXIST || number >= kMostNames)) fail_to("create", temporary_);
  }
  temporary_exists_ = true;
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (temporary_exists_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  ACID_ASSERT(descriptor_ >= 0, "{} bytes for {} after its commit", bytes.size(), path_);
  if (pending_.size() + bytes.size() > kBuffer) {
    write_through(pending_);
    pending_.clear();
  }
  if (bytes.size() > kBuffer)
    write_through(bytes);
  else
    pending_.insert(pending_.end(), bytes.begin(), bytes.end());
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
  digest_.update(bytes);
  bytes_ += static_cast<std::int64_t>(bytes.size());
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (written == 0) errno = EIO;  // a regular file never does; waiting for it might not end
    if (written <= 0) fail_to("write", temporary_);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

AtomicFile::Written AtomicFile::commit() {
  ACID_ASSERT(descriptor_ >= 0, "{} is committed twice", path_);
  write_through(pending_);
  pending_.clear();
  if (uninterrupted([&] { return ::fsync(descriptor_); }) != 0) fail_to("fsync", temporary_);
  // Some network file systems report a failed write only here. An interrupted close has closed it.
  if (::close(std::exchange(descriptor_, -1)) != 0 && errno != EINTR) fail_to("close", temporary_);
  if (uninterrupted([&] { return ::rename(temporary_.c_str(), path_.c_str()); }) != 0)
    fail_to("rename", temporary_);
  temporary_exists_ = false;
  sync_folder(std::filesystem::path(path_).parent_path().string());
  return {digest_.hex(), bytes_};
}

}  // namespace acid
