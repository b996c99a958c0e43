#include "store/utc.hpp"

#include <fmt/format.h>

#include <chrono>
#include <ctime>

namespace acid {

std::string utc_now() {
  const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(since_epoch).count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm date{};
  gmtime_r(&seconds, &date);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", date.tm_year + 1900,
                     date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec,
                     milliseconds % 1000);
}

}  // namespace acid
