#include "engine/transport/direct_memory.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

std::string sign_text(int rank, const std::string& secret) {
  return sha256_hex(fmt::format("memory of worker {} {}", rank, secret));
}

/// False, with errno set, unless everything was read.
bool read_bytes(std::int64_t pid, std::uint64_t address, char* into, std::size_t size) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // per call; the kernel allows 2³¹
  while (size > 0) {
    const std::size_t part = std::min(size, kMostBytes);
    const iovec here{into, part};
    const iovec there{reinterpret_cast<void*>(address), part};
    const auto got = ::process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0);
    if (got <= 0) return false;
    into += got;
    address += static_cast<std::uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

DirectMemory::DirectMemory(int rank, const std::string& secret) : text_(sign_text(rank, secret)) {
  // Some systems let only parents trace; the other processes of the run are siblings.
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

MemorySign DirectMemory::sign() const {
  return {::getpid(), reinterpret_cast<std::uintptr_t>(text_.data())};
}

bool DirectMemory::can_read(const MemorySign& sign, int rank, const std::string& secret) {
  const std::string expected = sign_text(rank, secret);
  std::string found(expected.size(), ' ');
  return read_bytes(sign.pid, sign.address, found.data(), found.size()) && found == expected;
}

void DirectMemory::read(std::int64_t pid, std::uint64_t address, std::span<float> into) {
  if (!read_bytes(pid, address, reinterpret_cast<char*>(into.data()), into.size_bytes()))
    throw Error(fmt::format("its memory cannot be read: {}", std::strerror(errno)));
}

}  // namespace acid
