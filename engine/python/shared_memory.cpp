#include "engine/python/shared_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr std::size_t kPageBytes = 4096;

// More bytes than can be used; only touched pages take memory.
std::size_t enough_bytes() {
  return 2 * static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// The space that this many bytes take.
std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = bytes < kPageBytes ? Backend::kAlignment : kPageBytes;
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

SharedMemory::SharedMemory()
    : file_(::memfd_create("acid vectors", MFD_CLOEXEC)), bytes_(enough_bytes()) {
  void* memory = MAP_FAILED;
  if (file_ && ::ftruncate(file_.get(), static_cast<off_t>(bytes_)) == 0)
    memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (memory == MAP_FAILED)
    throw Error(
        fmt::format("cannot map memory that a model's process shares: {}; a limit on "
                    "address space (ulimit -v) must leave room for {} bytes",
                    std::strerror(errno), bytes_));
  begin_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() { ::munmap(begin_, bytes_); }

void* SharedMemory::allocate(std::size_t bytes) const {
  const std::size_t size = rounded(bytes);
  const MutexLock lock(mutex_);
  if (const auto found = free_.find(size); found != free_.end()) {
    std::byte* const memory = begin_ + found->second;
    free_.erase(found);
    return std::memset(memory, 0, bytes);
  }
  if (size >= kPageBytes) used_ = (used_ + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (size > bytes_ - used_) throw std::bad_alloc();
  std::byte* const memory = begin_ + used_;
  used_ += size;
  return memory;
}

void SharedMemory::release(void* memory, std::size_t bytes) const noexcept {
  const MutexLock lock(mutex_);
  free_.emplace(rounded(bytes), static_cast<std::size_t>(static_cast<std::byte*>(memory) - begin_));
}

std::optional<std::size_t> SharedMemory::offset_of(const void* memory) const {
  const auto* const at = static_cast<const std::byte*>(memory);
  if (at < begin_ || at >= begin_ + bytes_) return std::nullopt;
  return static_cast<std::size_t>(at - begin_);
}

}  // namespace acid
