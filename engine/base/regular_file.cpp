#include "engine/base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/error.hpp"
#include "engine/base/system_call.hpp"

namespace acid {

std::filesystem::file_type type_of_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_type type = std::filesystem::status(path, error).type();
  if (type == std::filesystem::file_type::none)
    throw UsageError(
        fmt::format("cannot look at {}: {}; check its permissions", path, error.message()));
  return type;
}

RegularFile::RegularFile(const std::string& path) : path_(path) {
  // O_NONBLOCK: opening a pipe, even to see that it is one, could wait for ever.
  descriptor_ = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat facts {};
  if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0)
    throw UsageError(fmt::format("cannot read {}: check the path and its permissions", path));
  bytes_ = facts.st_size;
  if (S_ISREG(facts.st_mode)) return;
  close(descriptor_);
  throw UsageError(
      fmt::format("cannot read {}: it is not a regular file; put one in its place", path));
}

RegularFile::~RegularFile() { close(descriptor_); }

std::size_t RegularFile::read(std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::span<std::byte> rest = out.subspan(done);
    const ssize_t bytes =
        uninterrupted([&] { return ::read(descriptor_, rest.data(), rest.size()); });
    if (bytes < 0) throw Error(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
    if (bytes == 0) break;
    done += static_cast<std::size_t>(bytes);
  }
  return done;
}

}  // namespace acid
