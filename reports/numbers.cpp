#include "reports/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace acid {
namespace {

constexpr int kSmallestPlainExponent = -4, kLargestPlainExponent = 5;
constexpr int kFewDigits = 3, kMostDigits = 8;

int exponent_of(double value) {
  return value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
}

bool plain(double value) {
  const int exponent = exponent_of(value);
  return exponent >= kSmallestPlainExponent && exponent <= kLargestPlainExponent;
}

/// "1.500" → "1.5", "20.0" → "20".
std::string without_trailing_zeros(std::string text) {
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

struct Unit {
  double size;
  std::string_view name;
};

/// The value in the largest of the ascending units that does not exceed it.
template <std::size_t count>
std::string in_units(double value, const std::array<Unit, count>& units, int digits = 3) {
  if (!std::isfinite(value)) return format_number(value);
  const Unit* chosen = &units.front();
  for (const Unit& unit : units)
    if (std::abs(value) >= unit.size) chosen = &unit;
  return fmt::format("{}{}", format_number(value / chosen->size, digits), chosen->name);
}

constexpr std::array<Unit, 5> kBytes{
    {{1, " B"}, {1e3, " kB"}, {1e6, " MB"}, {1e9, " GB"}, {1e12, " TB"}}};
constexpr std::array<Unit, 5> kSeconds{
    {{1e-6, " µs"}, {1e-3, " ms"}, {1, " s"}, {60, " min"}, {3600, " h"}}};
constexpr std::array<Unit, 4> kCounts{{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}}};

template <std::size_t count>
std::optional<double> read_in_units(std::string_view text, const std::array<Unit, count>& units) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || !std::isfinite(value)) return std::nullopt;
  const auto without_blank = [](std::string_view name) {
    return name.substr(std::min(name.find_first_not_of(' '), name.size()));
  };
  const std::string_view unit =
      without_blank(text.substr(static_cast<std::size_t>(end - text.data())));
  if (unit.empty()) return value;
  for (const Unit& one : units)
    if (without_blank(one.name) == unit) return value * one.size;
  return std::nullopt;
}

}  // namespace

std::string format_number(double value, int significant_digits) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  if (!plain(value)) return fmt::format("{:.{}e}", value, significant_digits - 1);
  const int decimals = std::max(0, significant_digits - 1 - exponent_of(value));
  return without_trailing_zeros(fmt::format("{:.{}f}", value, decimals));
}

std::string format_percent(double share, int significant_digits) {
  return format_number(100 * share, significant_digits) + " %";
}

std::string format_plus_minus(double value, double half_width) {
  if (!std::isfinite(value) || !std::isfinite(half_width) || half_width <= 0)
    return fmt::format("{} ± {}", format_number(value), format_number(half_width));
  const double larger = std::max(std::abs(value), half_width);
  const double scale = plain(larger) ? 1 : std::pow(10.0, exponent_of(larger));
  // Digits of the value after the eighth are useless.
  const int decimals = std::clamp(1 - exponent_of(half_width / scale), 0,
                                  std::max(0, kMostDigits - 1 - exponent_of(larger / scale)));
  std::string spread = fmt::format("{:.{}f}", half_width / scale, decimals);
  if (half_width / scale < std::pow(10.0, -decimals)) spread = format_number(half_width / scale, 2);
  const std::string text = fmt::format("{:.{}f} ± {}", value / scale, decimals, spread);
  return scale == 1 ? text : fmt::format("({})e{:+03d}", text, exponent_of(larger));
}

std::string format_estimate(const Estimate& estimate) {
  if (estimate.n == 0) return "–";
  if (!estimate.ci_high) return format_number(estimate.mean) + " ± n/a";
  return format_plus_minus(estimate.mean, *estimate.ci_high - estimate.mean);
}

std::string format_interval(double value, const std::optional<double>& low,
                            const std::optional<double>& high) {
  if (!low || !high) return format_number(value, kFewDigits);
  const auto tells_apart = [&](int digits) {
    return std::ranges::none_of(std::array{*low, *high}, [&](double end) {
      return end != value && format_number(end, digits) == format_number(value, digits);
    });
  };
  int digits = kFewDigits;
  while (digits < kMostDigits && !tells_apart(digits)) ++digits;
  return fmt::format("{} [{}, {}]", format_number(value, digits), format_number(*low, digits),
                     format_number(*high, digits));
}

std::string format_ratio(const PairedRatio& ratio) {
  return format_interval(ratio.mean, ratio.ci_low, ratio.ci_high);
}

std::string format_p(std::optional<double> p) {
  if (!p) return "–";
  if (*p < 0.001) return "< 0.001";
  // What is above the limit does not read as at it.
  constexpr double kLimit = 1 - kLevel;
  int decimals = *p < 0.1 ? 3 : 2;
  std::string text = fmt::format("{:.{}f}", *p, decimals);
  while (*p > kLimit && std::stod(text) <= kLimit && decimals < kMostDigits)
    text = fmt::format("{:.{}f}", *p, ++decimals);
  return text;
}

std::string format_bytes(double bytes, int significant_digits) {
  return in_units(bytes, kBytes, significant_digits);
}

std::string format_seconds(double seconds) {
  return seconds == 0 ? "0 s" : in_units(seconds, kSeconds);
}

std::string format_count(double count, int significant_digits) {
  return in_units(count, kCounts, significant_digits);
}

std::optional<double> read_bytes(std::string_view text) { return read_in_units(text, kBytes); }
std::optional<double> read_seconds(std::string_view text) { return read_in_units(text, kSeconds); }
std::optional<double> read_count(std::string_view text) { return read_in_units(text, kCounts); }

std::string csv_number(const std::optional<double>& value) {
  if (!value) return "";
  return std::isnan(*value) ? "nan" : fmt::format("{}", *value);  // NaN has a sign
}

std::array<std::string, 3> csv_fields(const Estimate& e) {
  if (e.n == 0) return {};
  return {csv_number(e.mean), csv_number(e.ci_low), csv_number(e.ci_high)};
}

std::string with_minus(std::string_view formatted) {
  std::string result;
  for (const char c : formatted) result += c == '-' ? std::string("−") : std::string(1, c);
  return result;
}

std::string shown_time(std::string_view iso) {
  if (iso.empty()) return "–";
  std::string shown(iso.substr(0, 19));
  if (shown.size() > 10 && shown[10] == 'T') shown[10] = ' ';
  return shown;
}

}  // namespace acid
