#include "exports/text.hpp"

#include <chrono>
#include <cmath>
#include <cstdio>

namespace acid {

using nlohmann::json;

std::string exact_digits(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);  // a NaN's sign has no meaning
}

json exact_json(double value) {
  return std::isfinite(value) ? json(value) : json(exact_digits(value));
}

std::string compact(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string indented(const json& document) {
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

double unix_seconds(const std::string& iso) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0;
  double second = 0;
  if (std::sscanf(iso.c_str(), "%4d-%2d-%2dT%2d:%2d:%lfZ", &year, &month, &day, &hour, &minute,
                  &second) != 6)
    return 0;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  const std::chrono::sys_days midnight(date);
  return static_cast<double>(midnight.time_since_epoch().count()) * 86400 + hour * 3600 +
         minute * 60 + second;
}

}  // namespace acid
