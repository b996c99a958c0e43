#include "engine/transport/transport.hpp"

namespace acid {

std::string ProcessPlace::name() const {
  return fmt::format("worker {} (process {} on {})", rank, pid, host);
}

LostProcess::LostProcess(const ProcessPlace& place, const std::string& how, bool silent)
    : Error(fmt::format("{} was lost: {}", place.name(), how), Exit::lost),
      rank_(place.rank),
      silent_(silent) {}

}  // namespace acid
