#pragma once

#include <cerrno>
#include <cstring>
#include <string>

#include "engine/base/descriptor.hpp"
#include "engine/base/error.hpp"

namespace acid {

/// Throws the StoreError that errno means: "cannot `what` `path`: …".
[[noreturn]] inline void fail_to(const char* what, const std::string& path) {
  const std::string reason = std::strerror(errno);
  throw StoreError(fmt::format("cannot {} {}: {}; free space or check permissions, then run again",
                               what, path, reason));
}

}  // namespace acid
