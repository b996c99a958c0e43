#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/base/error.hpp"

namespace acid {

/// Repeats a system call that a signal interrupted.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Throws the StoreError that errno means: "cannot `what` `path`: …".
[[noreturn]] inline void fail_to(const char* what, const std::string& path) {
  const std::string reason = std::strerror(errno);
  throw StoreError(fmt::format("cannot {} {}: {}; free space or check permissions, then run again",
                               what, path, reason));
}

}  // namespace acid
