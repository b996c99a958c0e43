#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "reports/statistics.hpp"

namespace acid {

/// Numbers for people. The same value gives the same text everywhere: no locale, no padding.

/// Four significant digits; scientific outside [1e-4, 1e6); "nan", "inf", "-inf".
std::string format_number(double value, int significant_digits = 4);
/// A share: "2.5 %" of 0.025, "130 %" of 1.3.
std::string format_percent(double share, int significant_digits = 2);
/// Both numbers to the same decimal place, two significant digits of the half-width:
/// "0.9412 ± 0.0099", "(1.23 ± 0.04)e-07".
std::string format_plus_minus(double value, double half_width);
/// Mean ± half-width of its 95 % interval; "0.9412 ± n/a" for one seed, "–" for none.
std::string format_estimate(const Estimate& estimate);
/// "0.82 [0.71, 0.94]", or the value alone without an interval; more digits where three do not tell
/// the ends from the value: "1.003 [1.002, 1.004]".
std::string format_interval(double value, const std::optional<double>& low,
                            const std::optional<double>& high);
/// The same of a ratio.
std::string format_ratio(const PairedRatio& ratio);
/// "0.25", "< 0.001"; "–" when absent.
std::string format_p(std::optional<double> p);
/// Decimal units: "1.5 GB".
std::string format_bytes(double bytes, int significant_digits = 3);
/// With a unit a person would choose: "12.3 ms", "45 s", "1.2 h".
std::string format_seconds(double seconds);
/// "950", "20k", "1.5M": for axis ticks and counts.
std::string format_count(double count, int significant_digits = 3);

/// Reads what these print, with blanks or without: "1.5 GB", "2.67min", "20k"; a plain number is
/// bytes, seconds, or a count. Nothing for any other text.
std::optional<double> read_bytes(std::string_view text);
std::optional<double> read_seconds(std::string_view text);
std::optional<double> read_count(std::string_view text);

/// A number with all digits, for CSV; empty where absent.
std::string csv_number(const std::optional<double>& value);
/// The mean and the ends of its interval.
std::array<std::string, 3> csv_fields(const Estimate& estimate);

/// "2024-05-01 12:30:05" from ISO 8601; a dash when empty.
std::string shown_time(std::string_view iso);

/// Hyphens of a formatted number as true minus signs.
std::string with_minus(std::string_view formatted);

}  // namespace acid
