#include "engine/base/host_name.hpp"

#include <unistd.h>

#include <array>

namespace acid {

std::string host_name() {
  std::array<char, 256> name{};  // its last byte stays 0
  const bool failed = gethostname(name.data(), name.size() - 1) != 0;
  return failed || name.front() == 0 ? "localhost" : name.data();
}

}  // namespace acid
