#include "engine/transport/shared_window.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

std::span<float> map(int descriptor, std::size_t floats) {
  const int access = PROT_READ | PROT_WRITE;
  // Maps all pages at once, so that the first pass is not slow.
  void* const begin =
      ::mmap(nullptr, floats * sizeof(float), access, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (begin == MAP_FAILED) return {};
  return {static_cast<float*>(begin), floats};
}

}  // namespace

SharedWindow::SharedWindow() : descriptor_(::memfd_create("acid window", MFD_CLOEXEC)) {}

SharedWindow::~SharedWindow() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size_bytes());
}

std::span<float> SharedWindow::open(std::size_t floats) {
  ACID_ASSERT(memory_.empty(), "window {} opened twice", descriptor_.get());
  // Allocates now: a write to a page that cannot be allocated would kill the process silently.
  const auto bytes = static_cast<off_t>(floats * sizeof(float));
  int failure = EINTR;
  while (descriptor_ && failure == EINTR) failure = ::posix_fallocate(descriptor_.get(), 0, bytes);
  if (failure == 0) memory_ = map(descriptor_.get(), floats);
  return memory_;
}

MappedWindow::MappedWindow(std::int64_t pid, int descriptor, std::size_t floats) {
  const Descriptor file(
      ::open(fmt::format("/proc/{}/fd/{}", pid, descriptor).c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return;
  if (status.st_size == static_cast<off_t>(floats * sizeof(float)))
    memory_ = map(file.get(), floats);
}

MappedWindow::~MappedWindow() {
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size_bytes());
}

MappedWindow::MappedWindow(MappedWindow&& other) noexcept
    : memory_(std::exchange(other.memory_, {})) {}

MappedWindow& MappedWindow::operator=(MappedWindow&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

}  // namespace acid
